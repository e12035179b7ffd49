# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The part of Glance that Nova needs to start a server: one image."""

import json

ID = '5a5a5a5a-0000-4000-8000-000000000001'
CREATED = '2024-01-01T00:00:00Z'
IMAGE = {
    'id': ID, 'name': 'node', 'status': 'active', 'visibility': 'public',
    'owner': None, 'protected': False, 'os_hidden': False, 'tags': [],
    'size': 1024, 'virtual_size': None, 'checksum': None,
    'min_disk': 0, 'min_ram': 0,
    'container_format': 'bare', 'disk_format': 'raw',
    'created_at': CREATED, 'updated_at': CREATED,
    'self': '/v2/images/' + ID, 'file': '/v2/images/%s/file' % ID,
    'schema': '/v2/schemas/image',
}
SCHEMA = {
    'name': 'image',
    'properties': {name: {'description': name} for name in IMAGE},
    'additionalProperties': {'type': 'string'},
}


def answer(path, base):
    if path in ('', '/'):
        links = [{'rel': 'self', 'href': base + '/v2/'}]
        return '300 Multiple Choices', {'versions': [
            {'id': 'v2.9', 'status': 'CURRENT', 'links': links}]}
    documents = {
        '/v2/images': {'images': [IMAGE], 'first': '/v2/images',
                       'schema': '/v2/schemas/images'},
        '/v2/images/' + ID: IMAGE,
        '/v2/schemas/image': SCHEMA,
    }
    if path in documents:
        return '200 OK', documents[path]
    return '404 Not Found', {'message': 'there is no ' + path}


def application(environ, start_response):
    base = 'http://%s%s' % (environ.get('HTTP_HOST'), environ['SCRIPT_NAME'])
    status, document = answer(environ.get('PATH_INFO', ''), base)
    body = json.dumps(document).encode()
    start_response(status, [('Content-Type', 'application/json'),
                            ('Content-Length', str(len(body)))])
    return [body]


def factory(global_options, **local_options):
    return application
