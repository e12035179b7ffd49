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
    admin, tenant = cloud.administrator(settings), cloud.tenant(settings)
    ids = network.make(admin)
    ids.update(loadbalancer.make(admin))
    ids.update(compute.make(admin, tenant, settings, ids['network_id']))
    outputs.make(settings, ids)


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
