# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Runs one step; see the package."""

import json
import sys

from bootstrap import cloud
from bootstrap import compute
from bootstrap import dataplane
from bootstrap import identity
from bootstrap import loadbalancer
from bootstrap import network
from bootstrap import outputs


def resources(settings):
    admin = cloud.administrator(settings)
    compute.make_flavors(admin)
    tenants = {}
    # Nova creates the servers while the other objects are requested.
    for name in settings['tenants']:
        tenant, ids = cloud.tenant(settings, name), network.make(admin, name)
        compute.order(tenant, settings, ids['network_id'])
        tenants[name] = tenant, ids
    for name, (tenant, ids) in tenants.items():
        ids.update(loadbalancer.make(admin, [ids['project_id'], ids['other_project_id']]))
        ids.update(compute.described(tenant))
        outputs.make(settings, name, ids)


STEPS = {
    'identity': identity.make,
    'resources': resources,
    'ports': dataplane.make,
    'data-plane': dataplane.describe,
}


def main():
    step, path = sys.argv[1:]
    with open(path) as file:
        settings = json.load(file)
    STEPS[step](settings)


main()
