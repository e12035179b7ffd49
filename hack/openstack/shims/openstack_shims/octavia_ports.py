# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Neutron ports with the client of Octavia 13 and newer, openstacksdk."""

from octavia.common import clients
from openstack import exceptions

NotFound = exceptions.NotFoundException


def get(port_id):
    return _client().get_port(port_id)


def create(port):
    return _client().create_port(**port)


def update(port_id, changes):
    return _client().update_port(port_id, **changes)


def delete(port_id):
    # As in the original, a port that does not exist is an error.
    _client().delete_port(port_id, ignore_missing=False)


def _client():
    return clients.NeutronAuth.get_neutron_client().network
