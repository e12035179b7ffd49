# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Nova's servers: the nodes."""

import time

from openstack_shims import nova_image

FLAVOR = 'k8s-node'
# The flavor to which a server can be resized.
LARGER_FLAVOR = 'k8s-node-large'


def make_flavors(admin):
    found = [flavor['id'] for flavor in admin.get('compute', '/flavors')['flavors']]
    for name, ram in ((FLAVOR, 64), (LARGER_FLAVOR, 128)):
        if name not in found:
            admin.call('POST', 'compute', '/flavors', {'flavor': {
                'id': name, 'name': name, 'vcpus': 1, 'ram': ram, 'disk': 1}})


def order(tenant, settings, network):
    """Requests the servers that the tenant does not have yet."""
    found = servers(tenant)
    for number in range(1, settings['servers'] + 1):
        if 'node-%d' % number not in found:
            tenant.call('POST', 'compute', '/servers', {'server': wanted(number, network)})


def described(tenant):
    """Returns the ids of the image and the flavors, and all servers of the tenant, when they are
    built."""
    return {'image_id': nova_image.ID, 'flavor_id': FLAVOR, 'larger_flavor_id': LARGER_FLAVOR, 'nodes': {name: {
        'id': server['id'], 'status': server['status'],
        'addresses': [a['addr'] for addresses in server['addresses'].values() for a in addresses],
    } for name, server in sorted(built(tenant).items())}}


def wanted(number, network):
    return {'name': 'node-%d' % number, 'imageRef': nova_image.ID, 'flavorRef': FLAVOR,
            'security_groups': [{'name': 'k8s-nodes'}],
            'networks': [{'uuid': network, 'fixed_ip': '10.0.0.%d' % (10 + number)}]}


def servers(tenant):
    found = tenant.get('compute', '/servers/detail')['servers']
    return {server['name']: server for server in found}


def built(tenant):
    end = time.monotonic() + 90
    while True:
        found = servers(tenant)
        building = [name for name, server in found.items() if server['status'] == 'BUILD']
        if not building:
            break
        if time.monotonic() > end:
            raise SystemExit('openstack: Nova does not finish %s: see nova.log' % ', '.join(building))
        time.sleep(0.5)
    failed = [name for name, server in found.items() if server['status'] == 'ERROR']
    if failed:
        raise SystemExit('openstack: Nova could not make %s: see nova.log' % ', '.join(failed))
    return found
