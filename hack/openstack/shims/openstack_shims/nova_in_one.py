# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""nova-conductor, nova-scheduler, nova-compute with the fake hypervisor and
nova-api in one process, over the in-memory transport."""

import nova.monkey_patch  # noqa: F401  # before anything else

import sys

import eventlet
import nova.conf
from nova import config
from nova import context
from nova import exception
from nova import objects
from nova import service
from nova.compute import rpcapi as compute
from nova.conductor import rpcapi as conductor
from nova.objects import host_mapping
from nova.scheduler import rpcapi as scheduler
from oslo_log import log
from oslo_service import service as launcher

CONF = nova.conf.CONF
LOG = log.getLogger(__name__)


def map_host():
    """Adds the compute service to its cell as soon as it has registered, like `nova-manage cell_v2
    discover_hosts`."""
    administrator = context.get_admin_context()
    for _ in range(120):
        try:
            host_mapping.discover_hosts(administrator)
            host_mapping.HostMapping.get_by_host(administrator, CONF.host)
            return
        except exception.HostMappingNotFound:
            eventlet.sleep(0.25)
        except Exception:
            LOG.exception('The host is not in its cell yet')
            eventlet.sleep(0.25)


def main():
    config.parse_args(sys.argv)
    log.setup(CONF, 'nova')
    objects.register_all()
    objects.Service.enable_min_version_cache()
    services = launcher.ServiceLauncher(CONF, restart_method='mutate')
    for binary, topic in (('nova-conductor', conductor.RPC_TOPIC),
                          ('nova-scheduler', scheduler.RPC_TOPIC),
                          ('nova-compute', compute.RPC_TOPIC)):
        services.launch_service(service.Service.create(
            binary=binary, topic=topic, host=CONF.host))
    services.launch_service(service.WSGIService('osapi_compute'))
    eventlet.spawn(map_host)
    services.wait()


if __name__ == '__main__':
    main()
