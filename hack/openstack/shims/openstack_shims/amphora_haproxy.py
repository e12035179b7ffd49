# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints what Octavia would write into the amphora of a load balancer for HAProxy.

    python3 -m openstack_shims.amphora_haproxy CONFIG LOAD_BALANCER DIRECTORY VERSION

CONFIG is Octavia's configuration, DIRECTORY where HAProxy has its sockets, and
VERSION that of HAProxy. Template and code are Octavia's, and the load balancer is
what its database has now.
"""

import sys

from octavia.common import config
from octavia.common import constants
from octavia.common.jinja.haproxy.combined_listeners import jinja_cfg
from octavia.db import api
from octavia.db import repositories
from openstack_shims import octavia_release


def main():
    path, load_balancer, directory, version = sys.argv[1:]
    config.init(['--config-file', path])
    found = repositories.LoadBalancerRepository().get(api.get_session(), id=load_balancer)
    if found is None:
        sys.exit(f'Octavia has no load balancer {load_balancer}')
    listeners = [listener for listener in found.listeners
                 if listener.protocol in (constants.PROTOCOL_TCP, constants.PROTOCOL_HTTP, constants.PROTOCOL_HTTPS)
                 and listener.provisioning_status not in (constants.PENDING_DELETE, constants.ERROR)]
    if not listeners:
        sys.exit(f'load balancer {load_balancer} has no listener that HAProxy serves')
    templater = jinja_cfg.JinjaTemplater(base_amp_path=directory, log_http=f'{directory}/log', log_server=f'{directory}/log')
    # Newer releases size HAProxy by what the amphora tells of itself, which may be nothing.
    options = {} if octavia_release.IS_11 else {'amp_details': {}}
    print(templater.build_config(host_amphora=found.amphorae[0], listeners=listeners, tls_certs={},
                                 haproxy_versions=version.split('.'), **options))


if __name__ == '__main__':
    main()
