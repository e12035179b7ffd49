# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""octavia-driver-agent, with its sockets in the folder of the state.

It handles requests of provider ovn in threads. Octavia's own agent forks for each request, and the
child compiles all its queries again: half a second of CPU time, many times per change of a pool.
"""

import socketserver

from openstack_shims import native_threads  # noqa: F401
from openstack_shims import quick_database  # noqa: F401
from octavia.api.drivers.driver_agent import driver_listener
from octavia.cmd import driver_agent
from openstack_shims import octavia_sockets  # noqa: F401


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


driver_listener.ForkingUDSServer = _Server
driver_agent.main()
