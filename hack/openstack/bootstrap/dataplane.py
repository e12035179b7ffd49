# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The Neutron ports that the data plane plugs into namespaces, and the location of the data
plane."""

from bootstrap import cloud
from bootstrap import outputs

CLIENT = 'client'
# Ports for Pods, each in a separate namespace: enough to replace ten of them.
PODS = ['pod-%d' % n for n in range(1, 17)]


def make(settings):
    """Prints a line for each port: name, id, MAC, addresses."""
    ids = outputs.load(outputs.folder_of(settings, cloud.TENANT))
    admin = cloud.administrator(settings)
    nodes = cloud.tenant(settings).get('compute', '/servers/detail')['servers']
    for server in sorted(nodes, key=lambda server: server['name']):
        ports = admin.get('network', '/v2.0/ports?device_id=' + server['id'])['ports']
        for port in ports[:1]:
            print_port(server['name'], port)
    # A client in the network of the nodes, in the project's default security group.
    for port in ensure_ports(admin, ids, [CLIENT], network_id=ids['network_id'], fixed_ips=[{'subnet_id': ids['subnet_id']}]):
        print_port(port['name'], port)
    for port in ensure_ports(admin, ids, PODS, network_id=ids['pod_network_id'],
                             security_groups=[ids['pod_security_group_id']]):
        print_port(port['name'], port)


def ensure_ports(admin, ids, names, **attributes):
    """Ports that belong to no server. Only an administrator may bind a port to a host."""
    path = '/v2.0/ports?device_owner=compute:nova&project_id=' + ids['project_id']
    found = {port['device_id']: port for port in admin.get('network', path)['ports']}
    missing = [dict(attributes, name=name, project_id=ids['project_id'], device_id=name,
                    device_owner='compute:nova', **{'binding:host_id': 'compute-1'})
               for name in names if name not in found]
    if missing:
        for port in admin.call('POST', 'network', '/v2.0/ports', {'ports': missing})['ports']:
            found[port['device_id']] = port
    return [found[name] for name in names]


def print_port(name, port):
    addresses = ','.join(address['ip_address'] for address in port['fixed_ips'])
    print(name, port['id'], port['mac_address'], addresses)


def describe(settings):
    """Writes to ids.json where packets can be sent and observed."""
    folder, prefix = outputs.folder_of(settings, cloud.TENANT), settings['prefix']
    ids = outputs.load(folder)
    ports = cloud.administrator(settings).get('network', '/v2.0/ports?network_id=' + ids['pod_network_id'])['ports']
    ids['data_plane'] = {
        'pods': [{'namespace': '%s-%s' % (prefix, port['name']), 'address': port['fixed_ips'][0]['ip_address']}
                 for port in sorted(ports, key=lambda port: port['name']) if port['name'] in PODS],
        'prefix': prefix,
        'node_namespaces': {name: '%s-%s' % (prefix, name) for name in ids['nodes']},
        'client_namespace': prefix + '-client',
        'outside_namespace': prefix + '-outside',
        'pods_namespace': prefix + '-pods',
        'outside_addresses': ['172.24.4.1', '172.24.5.1'],
        'internet_address': settings['internet_address'],
    }
    outputs.write_ids(folder, ids)
