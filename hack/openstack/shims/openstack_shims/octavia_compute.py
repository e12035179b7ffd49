# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""An Octavia compute driver without virtual machines, but with real ports.

Octavia's own no-op driver returns None when a network is attached, with which the production
network driver does not work. This driver does in Neutron what Nova would do: it creates, attaches,
detaches and deletes ports.
"""

import collections

from octavia.compute.drivers.noop_driver import driver
from openstack_shims import octavia_release
from oslo_utils import uuidutils

if octavia_release.IS_11:
    from openstack_shims import octavia_ports_11 as ports
else:
    from openstack_shims import octavia_ports as ports

Interface = collections.namedtuple('Interface', 'net_id port_id fixed_ips')


class PortsOnlyComputeDriver(driver.NoopComputeDriver):

    def attach_network_or_port(self, compute_id, network_id=None,
                               ip_address=None, port_id=None):
        if port_id:
            port = ports.update(port_id, {'device_id': compute_id})
        else:
            port = ports.create(wanted_port(compute_id, network_id, ip_address))
        return Interface(port['network_id'], port['id'], port['fixed_ips'])

    def detach_port(self, compute_id, port_id):
        """Nova deletes the ports that it created, and detaches the others."""
        try:
            if (ports.get(port_id)['device_owner'] or '').startswith('compute:'):
                ports.delete(port_id)
            else:
                ports.update(port_id, {'device_id': ''})
        except ports.NotFound:
            pass


def wanted_port(compute_id, network_id, ip_address):
    port = {'name': 'octavia-member-port-' + uuidutils.generate_uuid(),
            'network_id': network_id, 'device_id': compute_id,
            'device_owner': 'compute:nova', 'admin_state_up': True}
    if ip_address:
        port['fixed_ips'] = [{'ip_address': ip_address}]
    return port
