# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of Neutron 26 and newer, which runs in a server with threads instead of
eventlet, also with OVN: this is the only process, so it is worker number one of one."""

import sys
import time
import types

from openstack_shims import quick_controllers  # noqa: F401
from openstack_shims import quick_database  # noqa: F401

# ML2/OVN expects a uWSGI server, and reads its start time and the number of this worker. Without
# these, the first request waits forever.
server = types.ModuleType('uwsgi')
server.opt = {'start-time': str(int(time.time())).encode()}
server.worker_id = lambda: 1
server.numproc = 1
sys.modules['uwsgi'] = server

from neutron.wsgi import api  # noqa: E402

application = api.application
