# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Prints the HAProxy configuration that Octavia would write to the amphora of a load balancer.

    python3 -m openstack_shims.amphora_haproxy CONFIG LOAD_BALANCER DIRECTORY VERSION

CONFIG is Octavia's configuration, DIRECTORY the directory of HAProxy's sockets and certificates,
and VERSION the version of HAProxy. Template and code are Octavia's, the load balancer is read from
its database, and the certificates are read from Barbican as Octavia does.

The output is an object: "configuration" is the text of the configuration, "files" has the texts of
the files below DIRECTORY to which it refers, by path.
"""

import json
import os
import sys

from octavia.common import config
from octavia.common import constants
from octavia.common.jinja.haproxy.combined_listeners import jinja_cfg
from octavia.common.tls_utils import cert_parser
from octavia.db import api
from octavia.db import repositories
from openstack_shims import octavia_release
from oslo_config import cfg
from stevedore import driver

SERVED = (constants.PROTOCOL_TCP, constants.PROTOCOL_HTTP, constants.PROTOCOL_HTTPS, constants.PROTOCOL_TERMINATED_HTTPS)


def main():
    path, load_balancer, directory, version = sys.argv[1:]
    config.init(['--config-file', path])
    cfg.CONF.set_override('base_cert_dir', directory, group='haproxy_amphora')
    found = repositories.LoadBalancerRepository().get(api.get_session(), id=load_balancer)
    if found is None:
        sys.exit(f'Octavia has no load balancer {load_balancer}')
    listeners = [listener for listener in found.listeners
                 if listener.protocol in SERVED
                 and listener.provisioning_status not in (constants.PENDING_DELETE, constants.ERROR)]
    if not listeners:
        sys.exit(f'load balancer {load_balancer} has no listener that HAProxy serves')
    templater = jinja_cfg.JinjaTemplater(base_amp_path=directory, log_http=f'{directory}/log', log_server=f'{directory}/log')
    # Newer releases size HAProxy by what the amphora reports, which may be nothing.
    options = {} if octavia_release.IS_11 else {'amp_details': {}}
    text = templater.build_config(host_amphora=found.amphorae[0], listeners=listeners, tls_certs={},
                                  haproxy_versions=version.split('.'), **options)
    files = {}
    for listener in listeners:
        if listener.tls_certificate_id:
            files.update(certificates(listener, os.path.join(directory, load_balancer)))
    json.dump({'configuration': text, 'files': files}, sys.stdout)


def certificates(listener, directory):
    """Returns the files of a listener that terminates TLS: its certificates, and the list of
    them."""
    manager = driver.DriverManager(namespace='octavia.cert_manager', name=cfg.CONF.certificates.cert_manager, invoke_on_load=True).driver
    data = cert_parser.load_certificates_data(manager, listener)
    files = {os.path.join(directory, f'{one.id}.pem'): cert_parser.build_pem(one).decode()
             for one in [data['tls_cert'], *data['sni_certs']]}
    files[os.path.join(directory, f'{listener.id}.pem')] = '\n'.join(files) + '\n'
    return files


if __name__ == '__main__':
    main()
