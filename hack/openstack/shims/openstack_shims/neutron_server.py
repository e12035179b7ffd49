# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""neutron-server, in eventlet, which has to be imported first."""

import sys

from neutron.cmd.eventlet import server
from openstack_shims import quick_database  # noqa: F401

sys.argv[0] = 'neutron-server'
server.main()
