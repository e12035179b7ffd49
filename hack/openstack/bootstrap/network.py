# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks, the router, the nodes' security group."""

# Every Neutron quota that a service project would exhaust: the ports and security groups of all
# tenants' load balancers belong to it.
UNLIMITED = dict.fromkeys(
    ('network', 'subnet', 'port', 'floatingip', 'security_group', 'security_group_rule'), -1)

NODE_PORTS = {'port_range_min': 30000, 'port_range_max': 32767}
ANYWHERE = {'IPv4': '0.0.0.0/0', 'IPv6': '::/0'}


def make(admin, tenant):
    """Returns their ids, with the names in the tenant's ids.json."""
    projects = {p['name']: p['id'] for p in admin.get('identity', '/projects')['projects']}
    admin.call('PUT', 'network', '/v2.0/quotas/' + projects['service'], {'quota': UNLIMITED})
    ids = {'project_id': projects[tenant], 'other_project_id': projects['other']}
    ids.update(make_public(admin, projects['admin'], projects[tenant]))
    ids.update(make_private(admin, projects[tenant], ids['public_network_id']))
    ids['node_security_group_id'] = make_security_group(admin, projects[tenant])
    ids['second_network_id'], ids['second_subnet_id'] = make_network(
        admin, projects[tenant], 'second', '10.1.0.0/24')
    ids.update(make_pods(admin, projects[tenant], ids['router_id']))
    ids['other_network_id'], ids['other_subnet_id'] = make_network(
        admin, projects['other'], 'other', '10.2.0.0/24')
    ids['extensions'] = sorted(
        e['alias'] for e in admin.get('network', '/v2.0/extensions')['extensions'])
    return ids


def ensure(admin, kind, **wanted):
    return admin.ensure('network', '/v2.0/%ss' % kind.replace('_', '-'), kind, **wanted)


def make_public(admin, owner, tenant):
    """An external network with two subnets; the second has a tag."""
    network = ensure(admin, 'network', name='public', project_id=owner, **{
        'router:external': True, 'is_default': True,
        'provider:network_type': 'flat', 'provider:physical_network': 'public'})['id']
    subnets = [ensure(admin, 'subnet', name=name, project_id=owner, network_id=network,
                      ip_version=4, cidr='172.24.%d.0/24' % third,
                      gateway_ip='172.24.%d.1' % third, enable_dhcp=False)['id']
               for name, third in (('public-subnet', 4), ('public-subnet-2', 5))]
    admin.call('PUT', 'network', '/v2.0/subnets/%s/tags' % subnets[1], {'tags': ['lb-public']})
    show_subnets(admin, network, tenant)
    return {'public_network_id': network, 'public_subnet_ids': subnets,
            'public_subnet_tagged': subnets[1]}


def show_subnets(admin, network, tenant):
    """A tenant sees the subnets of an external network only if the network is shared with it. It
    must see them to find one by its tag."""
    path = '/v2.0/rbac-policies'
    found = admin.get('network', '%s?object_id=%s&target_tenant=%s&action=access_as_shared' % (
        path, network, tenant))
    if not found['rbac_policies']:
        admin.call('POST', 'network', path, {'rbac_policy': {
            'object_type': 'network', 'object_id': network,
            'action': 'access_as_shared', 'target_tenant': tenant}})


def make_private(admin, tenant, public):
    """The network of the nodes, with a router to the public one."""
    network = ensure(admin, 'network', name='private', project_id=tenant)['id']
    subnet = ensure(admin, 'subnet', name='private-subnet', project_id=tenant, network_id=network,
                    ip_version=4, cidr='10.0.0.0/24', gateway_ip='10.0.0.1',
                    allocation_pools=[{'start': '10.0.0.50', 'end': '10.0.0.254'}])['id']
    subnet6 = ensure(admin, 'subnet', name='private-subnet6', project_id=tenant, network_id=network,
                     ip_version=6, cidr='fd00:10::/64', gateway_ip='fd00:10::1')['id']
    router = ensure(admin, 'router', name='router1', project_id=tenant,
                    external_gateway_info={'network_id': public})['id']
    connect(admin, router, (subnet, subnet6))
    return {'network_id': network, 'subnet_id': subnet, 'subnet6_id': subnet6, 'router_id': router}


def connect(admin, router, subnets):
    ports = admin.get('network', '/v2.0/ports?device_id=' + router)['ports']
    connected = {address['subnet_id'] for port in ports for address in port['fixed_ips']}
    for subnet in subnets:
        if subnet not in connected:
            admin.call('PUT', 'network', '/v2.0/routers/%s/add_router_interface' % router,
                       {'subnet_id': subnet})


def make_network(admin, project, name, cidr):
    """A network with one subnet and no router."""
    network = ensure(admin, 'network', name=name, project_id=project)['id']
    subnet = ensure(admin, 'subnet', name=name + '-subnet', project_id=project,
                    network_id=network, ip_version=4, cidr=cidr)['id']
    return network, subnet


def make_pods(admin, project, router):
    """A network for Pods with their own ports, on the router of the nodes. All clients may connect
    to these Pods: the controller does not change their security groups."""
    network, subnet = make_network(admin, project, 'pods', '10.240.0.0/24')
    connect(admin, router, [subnet])
    group = make_group(admin, project, 'k8s-pods', lambda _: (
        {'ethertype': family, 'remote_ip_prefix': anywhere} for family, anywhere in ANYWHERE.items()))
    return {'pod_network_id': network, 'pod_subnet_id': subnet, 'pod_security_group_id': group}


def make_security_group(admin, project):
    """Nodes accept all traffic from each other. From elsewhere only NodePorts can be reached, which
    the controller does not open by itself yet."""
    return make_group(admin, project, 'k8s-nodes', wanted_rules)


def make_group(admin, project, name, rules):
    """A security group with ingress rules, which get its id."""
    group = ensure(admin, 'security_group', name=name, project_id=project)['id']
    path = '/v2.0/security-group-rules'
    found = admin.get('network', '%s?direction=ingress&security_group_id=%s' % (path, group))
    if not found['security_group_rules']:
        admin.call('POST', 'network', path, {'security_group_rules': [
            dict(rule, security_group_id=group, project_id=project, direction='ingress')
            for rule in rules(group)]})
    return group


def wanted_rules(group):
    for family, anywhere in ANYWHERE.items():
        yield {'ethertype': family, 'remote_group_id': group}
        for protocol in ('tcp', 'udp'):
            yield dict(NODE_PORTS, ethertype=family, protocol=protocol, remote_ip_prefix=anywhere)
