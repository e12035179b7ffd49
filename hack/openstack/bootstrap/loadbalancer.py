# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Octavia's flavor and availability zone, both named test, and the projects' quotas. Flavor and
zone are for the amphora provider; provider ovn has none."""

import json


def make(admin, projects):
    for project in projects:
        # Octavia creates the quota row of a project with its first load balancer, and refuses one
        # of two concurrent requests: "Already an entity with that specified id".
        admin.call('PUT', 'load-balancer', '/v2.0/lbaas/quotas/' + project, {'quota': {}})
    profile = ensure(admin, 'flavorprofile', name='test', provider_name='amphora',
                     flavor_data=json.dumps({'loadbalancer_topology': 'SINGLE'}))
    flavor = ensure(admin, 'flavor', name='test', flavor_profile_id=profile['id'],
                    description='one amphora', enabled=True)
    profile = ensure(admin, 'availabilityzoneprofile', 'availability_zone_profile',
                     name='test', provider_name='amphora',
                     availability_zone_data=json.dumps({'compute_zone': 'nova'}))
    zone = ensure(admin, 'availabilityzone', 'availability_zone', name='test',
                  availability_zone_profile_id=profile['id'],
                  description="Nova's own zone", enabled=True)
    return {'octavia_flavor_id': flavor['id'], 'availability_zone': zone['name']}


def ensure(admin, path, kind=None, **wanted):
    return admin.ensure('load-balancer', '/v2.0/lbaas/%ss' % path, kind or path, **wanted)
