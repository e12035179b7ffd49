# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""nova-api as a WSGI application, for releases of Nova without an API server, with nova-conductor,
nova-scheduler and nova-compute with the fake hypervisor in the same process. They run in threads,
over the in-memory transport."""

import os

os.environ['OS_NOVA_DISABLE_EVENTLET_PATCHING'] = 'true'

from nova import monkey_patch  # noqa: E402

monkey_patch.patch(backend='threading')  # before anything else of Nova

import threading  # noqa: E402
import time  # noqa: E402

import nova.conf  # noqa: E402
from nova import context  # noqa: E402
from nova import exception  # noqa: E402
from nova import objects  # noqa: E402
from nova import service  # noqa: E402
from nova.api.openstack import wsgi_app  # noqa: E402
from nova.compute import rpcapi as compute  # noqa: E402
from nova.conductor import rpcapi as conductor  # noqa: E402
from nova.objects import host_mapping  # noqa: E402
from nova.scheduler import rpcapi as scheduler  # noqa: E402
from oslo_log import log  # noqa: E402

CONF = nova.conf.CONF
LOG = log.getLogger(__name__)
ATTEMPTS = 120


def map_host():
    """Adds the compute service to its cell as soon as it has registered, like `nova-manage cell_v2
    discover_hosts`."""
    administrator = context.get_admin_context()
    for _ in range(ATTEMPTS):
        try:
            host_mapping.discover_hosts(administrator)
            host_mapping.HostMapping.get_by_host(administrator, CONF.host)
            return
        except exception.HostMappingNotFound:
            pass
        except Exception:
            LOG.exception('The host is not in its cell yet')
        time.sleep(0.25)
    LOG.error('The host has not got into its cell')


def start(binary, **topics):
    started = service.Service.create(binary=binary, host=CONF.host, **topics)
    started.start()
    return started


application = wsgi_app.init_application('osapi_compute', 'nova-api-os-compute')
objects.Service.enable_min_version_cache()
# The steps of a resize use the second topic. Without it a resize never ends.
services = [start('nova-conductor', topic=conductor.RPC_TOPIC),
            start('nova-scheduler', topic=scheduler.RPC_TOPIC),
            start('nova-compute', topic=compute.RPC_TOPIC,
                  topic_alt=compute.RPC_TOPIC_ALT)]
threading.Thread(target=map_host, daemon=True).start()
