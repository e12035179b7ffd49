# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files for clients: ids.json, cloud.conf, clouds.yaml, openrc."""

import json
import os

from bootstrap import cloud

CLOUD_CONF = '''[Global]
auth-url={auth_url}
username=k8s
password={password}
tenant-id={project_id}
domain-id=default
region={region}

[LoadBalancer]
lb-provider={provider}
subnet-id={subnet_id}
floating-network-id={public_network_id}
'''

ENTRY = '''  {name}:
    auth:
      auth_url: "{url}"
      username: {user}
      password: "{password}"
      project_name: {project}
      user_domain_id: default
      project_domain_id: default
    region_name: {region}
    identity_api_version: 3
    interface: public
'''

OPENRC = '''export OS_AUTH_URL={url} OS_REGION_NAME={region} OS_IDENTITY_API_VERSION=3
export OS_USERNAME={user} OS_PASSWORD={password} OS_PROJECT_NAME={project}
export OS_USER_DOMAIN_NAME=Default OS_PROJECT_DOMAIN_NAME=Default
'''


def make(settings, ids):
    ids = dict(described(settings), **ids)
    users = (
        ('k8s', 'k8s', settings['password'], 'k8s'),
        ('k8s-reader', 'k8s-reader', settings['reader_password'], 'k8s'),
        ('other', 'other', settings['other_password'], 'other'),
        ('admin', 'admin', settings['admin_password'], 'admin'),
    )
    accounts = {name: dict(name=name, user=user, password=password, project=project,
                           url=ids['auth_url'], region=ids['region'])
                for name, user, password, project in users}
    write(settings, 'cloud.conf', CLOUD_CONF.format(**ids))
    write(settings, 'clouds.yaml', 'clouds:\n' + ''.join(
        ENTRY.format(**account) for account in accounts.values()))
    write(settings, 'openrc', OPENRC.format(**accounts['k8s']))
    write(settings, 'admin-openrc', OPENRC.format(**accounts['admin']))
    write_ids(settings, ids)


def described(settings):
    return {
        'auth_url': settings['endpoints']['identity'], 'region': cloud.REGION,
        'user': 'k8s', 'password': settings['password'],
        'reader_user': 'k8s-reader', 'reader_password': settings['reader_password'],
        'other_user': 'other', 'other_password': settings['other_password'],
        'admin_password': settings['admin_password'],
        'endpoints': settings['endpoints'], 'provider': settings['provider'],
        'patched': settings['patched'], 'state': settings['state'],
        'mysql_socket': settings['mysql_socket'], 'data_plane': None,
    }


def load(settings):
    with open(path(settings, 'ids.json')) as file:
        return json.load(file)


def write_ids(settings, ids):
    write(settings, 'ids.json', json.dumps(ids, indent=1) + '\n')


def write(settings, name, text):
    """The file is there as a whole or not at all."""
    new = path(settings, name + '.new')
    with open(new, 'w') as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
    os.rename(new, path(settings, name))


def path(settings, name):
    return os.path.join(settings['state'], 'out', name)
