# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of Neutron 26 and newer, which is run by a server with
threads and not by eventlet. With OVN too: this one process is all there is, so it is
worker number one of one."""

import sys
import time
import types

from openstack_shims import quick_controllers  # noqa: F401
from openstack_shims import quick_database  # noqa: F401

# ML2/OVN asks the server, which it takes for uWSGI, when it was started, and which
# of its workers this is. Without an answer the first request waits for ever.
server = types.ModuleType('uwsgi')
server.opt = {'start-time': str(int(time.time())).encode()}
server.worker_id = lambda: 1
server.numproc = 1
sys.modules['uwsgi'] = server

from neutron.wsgi import api  # noqa: E402

application = api.application
