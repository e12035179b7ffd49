# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of octavia-api, and octavia-worker in the same process.

Both use the in-memory transport of oslo.messaging, so the API's calls are processed as with a
broker: with the same serialisation and the same endpoints.
"""

import os

from openstack_shims import quick_controllers  # noqa: F401
from openstack_shims import quick_database  # noqa: F401
from openstack_shims import quick_network_driver  # noqa: F401
from openstack_shims import octavia_release
if octavia_release.IS_11:
    from openstack_shims import quick_repositories  # noqa: F401
from octavia.api import app
from openstack_shims import octavia_sockets  # noqa: F401
from openstack_shims import octavia_worker

application = octavia_worker.tells_its_end(app.setup_app(
    argv=['octavia-api', '--config-file', os.environ['OCTAVIA_CONFIG']]))

worker = octavia_worker.start()
