# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""octavia-driver-agent, with its sockets where the state is.

It answers requests of provider ovn in threads. Octavia forks for each, and the
child compiles all its queries anew: half a second of a core, many times for one
change of a pool.
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
