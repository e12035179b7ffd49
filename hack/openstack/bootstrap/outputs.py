# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The files for clients: ids.json, cloud.conf, clouds.yaml, openrc."""

import json
import os

from bootstrap import cloud

CLOUD_CONF = '''[Global]
auth-url={auth_url}
username={user}
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


def make(settings, tenant, ids):
    ids = dict(described(settings, tenant), **ids)
    users = (
        (tenant, tenant, settings['password'], tenant),
        ('k8s-reader', 'k8s-reader', settings['reader_password'], 'k8s'),
        ('other', 'other', settings['other_password'], 'other'),
        ('admin', 'admin', settings['admin_password'], 'admin'),
    )
    accounts = {name: dict(name=name, user=user, password=password, project=project,
                           url=ids['auth_url'], region=ids['region'])
                for name, user, password, project in users}
    folder = folder_of(settings, tenant)
    os.makedirs(folder, exist_ok=True)
    write(folder, 'cloud.conf', CLOUD_CONF.format(**ids))
    write(folder, 'clouds.yaml', 'clouds:\n' + ''.join(
        ENTRY.format(**account) for account in accounts.values()))
    write(folder, 'openrc', OPENRC.format(**accounts[tenant]))
    write(folder, 'admin-openrc', OPENRC.format(**accounts['admin']))
    write_ids(folder, ids)
    if not ids['patched']:
        # Octavia reads it, see octavia_single_call.py
        write(os.path.join(settings['state'], 'run', 'unpatched'), ids['project_id'], '')


def folder_of(settings, tenant):
    """Returns the folder of a tenant other than k8s: like the state's, it contains out."""
    return os.path.join(settings['state'], '' if tenant == cloud.TENANT else tenant, 'out')


def described(settings, tenant):
    return {
        'auth_url': settings['endpoints']['identity'], 'region': cloud.REGION,
        'user': tenant, 'password': settings['password'],
        'reader_user': 'k8s-reader', 'reader_password': settings['reader_password'],
        'other_user': 'other', 'other_password': settings['other_password'],
        'admin_password': settings['admin_password'],
        'endpoints': settings['endpoints'], 'provider': settings['provider'],
        'release': settings['release'],
        'patched': tenant != 'unpatched', 'state': settings['state'],
        'mysql_socket': settings['mysql_socket'], 'data_plane': None,
    }


def load(folder):
    with open(os.path.join(folder, 'ids.json')) as file:
        return json.load(file)


def write_ids(folder, ids):
    write(folder, 'ids.json', json.dumps(ids, indent=1) + '\n')


def write(folder, name, text):
    """Writes the file atomically."""
    path = os.path.join(folder, name)
    with open(path + '.new', 'w') as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text)
    os.rename(path + '.new', path)
