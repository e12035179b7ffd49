# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of Neutron for a server without eventlet. The configuration must not use
anything that needs eventlet: no RPC, no notifications of Nova, no OVN."""

from openstack_shims import quick_controllers  # noqa: F401
from openstack_shims import quick_database  # noqa: F401
from neutron import server
from neutron.server import api_eventlet

application = server.boot_server(api_eventlet.eventlet_api_server)
