# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Neutron ports that the data plane plugs into namespaces, and where it is."""

from bootstrap import cloud
from bootstrap import outputs

CLIENT = 'client'


def make(settings):
    """Prints a line for each port: name, id, MAC, addresses."""
    ids = outputs.load(outputs.folder_of(settings, cloud.TENANT))
    admin = cloud.administrator(settings)
    nodes = cloud.tenant(settings).get('compute', '/servers/detail')['servers']
    for server in sorted(nodes, key=lambda server: server['name']):
        ports = admin.get('network', '/v2.0/ports?device_id=' + server['id'])['ports']
        for port in ports[:1]:
            print_port(server['name'], port)
    print_port(CLIENT, client_port(admin, ids))


def client_port(admin, ids):
    """A client beside the nodes, in the project's default security group. Only
    an administrator may bind a port to a host."""
    found = admin.get('network', '/v2.0/ports?device_id=%s&network_id=%s' % (CLIENT, ids['network_id']))
    for port in found['ports']:
        return port
    return admin.call('POST', 'network', '/v2.0/ports', {'port': {
        'name': CLIENT, 'project_id': ids['project_id'], 'network_id': ids['network_id'],
        'fixed_ips': [{'subnet_id': ids['subnet_id']}], 'device_id': CLIENT,
        'device_owner': 'compute:nova', 'binding:host_id': 'compute-1'}})['port']


def print_port(name, port):
    addresses = ','.join(address['ip_address'] for address in port['fixed_ips'])
    print(name, port['id'], port['mac_address'], addresses)


def describe(settings):
    """Enter into ids.json where packets can be sent from and seen."""
    folder, prefix = outputs.folder_of(settings, cloud.TENANT), settings['prefix']
    ids = outputs.load(folder)
    ids['data_plane'] = {
        'prefix': prefix,
        'node_namespaces': {name: '%s-%s' % (prefix, name) for name in ids['nodes']},
        'client_namespace': prefix + '-client',
        'outside_namespace': prefix + '-outside',
        'pods_namespace': prefix + '-pods',
        'outside_addresses': ['172.24.4.1', '172.24.5.1'],
        'internet_address': settings['internet_address'],
    }
    outputs.write_ids(folder, ids)
