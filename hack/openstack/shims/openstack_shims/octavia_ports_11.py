# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Neutron ports with the client of Octavia 11, python-neutronclient."""

from neutronclient.common import exceptions
from octavia.common import clients
from oslo_config import cfg

NotFound = exceptions.PortNotFoundClient


def get(port_id):
    return _client().show_port(port_id)['port']


def create(port):
    return _client().create_port({'port': port})['port']


def update(port_id, changes):
    return _client().update_port(port_id, {'port': changes})['port']


def delete(port_id):
    _client().delete_port(port_id)


def _client():
    options = cfg.CONF.neutron
    return clients.NeutronAuth.get_neutron_client(
        endpoint=options.endpoint, region=options.region_name,
        endpoint_type=options.endpoint_type, service_name=options.service_name,
        insecure=options.insecure, ca_cert=options.ca_certificates_file)
