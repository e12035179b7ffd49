# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""An Octavia compute driver without virtual machines, but with real ports.

Octavia's own no-op driver answers None when a network is attached, which the
network driver of production cannot work with. This one does in Neutron what
Nova would do there: it makes, takes, gives back and deletes ports.
"""

import collections

from neutronclient.common import exceptions
from octavia.common import clients
from octavia.compute.drivers.noop_driver import driver
from oslo_config import cfg
from oslo_utils import uuidutils

Interface = collections.namedtuple('Interface', 'net_id port_id fixed_ips')


class PortsOnlyComputeDriver(driver.NoopComputeDriver):

    def attach_network_or_port(self, compute_id, network_id=None,
                               ip_address=None, port_id=None):
        if port_id:
            port = neutron().update_port(
                port_id, {'port': {'device_id': compute_id}})['port']
        else:
            port = neutron().create_port(
                {'port': wanted_port(compute_id, network_id, ip_address)})['port']
        return Interface(port['network_id'], port['id'], port['fixed_ips'])

    def detach_port(self, compute_id, port_id):
        """Nova deletes the ports that it made, and lets go of the others."""
        try:
            port = neutron().show_port(port_id)['port']
            if port['device_owner'].startswith('compute:'):
                neutron().delete_port(port_id)
            else:
                neutron().update_port(port_id, {'port': {'device_id': ''}})
        except exceptions.PortNotFoundClient:
            pass


def wanted_port(compute_id, network_id, ip_address):
    port = {'name': 'octavia-member-port-' + uuidutils.generate_uuid(),
            'network_id': network_id, 'device_id': compute_id,
            'device_owner': 'compute:nova', 'admin_state_up': True}
    if ip_address:
        port['fixed_ips'] = [{'ip_address': ip_address}]
    return port


def neutron():
    options = cfg.CONF.neutron
    return clients.NeutronAuth.get_neutron_client(
        endpoint=options.endpoint, region=options.region_name,
        endpoint_type=options.endpoint_type, service_name=options.service_name,
        insecure=options.insecure, ca_cert=options.ca_certificates_file)
