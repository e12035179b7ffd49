# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""octavia-driver-agent, with its sockets where the state is."""

from openstack_shims import native_threads  # noqa: F401
from openstack_shims import quick_database  # noqa: F401
from octavia.cmd import driver_agent
from openstack_shims import octavia_sockets  # noqa: F401

driver_agent.main()
