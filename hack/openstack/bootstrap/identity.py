# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Roles, projects, users, and the catalogue."""

from bootstrap import cloud

ROLES = ('admin', 'member', 'reader', 'service', 'creator', 'observer',
         'load-balancer_member', 'load-balancer_observer', 'load-balancer_admin',
         'load-balancer_global_observer', 'load-balancer_quota_admin')

# Exactly what a tenant needs for load balancers and certificates.
TENANT = ('member', 'load-balancer_member', 'creator')

# type, name, and the user of the service, if it has one
SERVICES = (
    ('network', 'neutron', 'neutron'),
    ('load-balancer', 'octavia', 'octavia'),
    ('compute', 'nova', 'nova'),
    ('placement', 'placement', 'placement'),
    ('image', 'glance', None),
    ('key-manager', 'barbican', 'barbican'),
)


def make(settings):
    admin = cloud.administrator(settings)
    roles = {name: ensure(admin, 'role', name=name)['id'] for name in ROLES}
    for _, _, user in SERVICES:
        if user:
            make_user(admin, roles, user, settings['service_password'],
                      'service', ('admin', 'service'))
    for tenant in settings['tenants']:
        make_user(admin, roles, tenant, settings['password'], tenant, TENANT)
    make_user(admin, roles, 'k8s-reader', settings['reader_password'], 'k8s', ('reader',))
    make_user(admin, roles, 'other', settings['other_password'], 'other', TENANT)
    grant(admin, admin.token['project']['id'], admin.token['user']['id'],
          roles['load-balancer_admin'])
    make_catalogue(admin)


def ensure(admin, kind, **wanted):
    return admin.ensure('identity', '/%ss' % kind, kind, **wanted)


def make_user(admin, roles, name, password, project, granted):
    project = ensure(admin, 'project', name=project, domain_id='default')['id']
    user = ensure(admin, 'user', name=name, password=password,
                  domain_id='default', default_project_id=project)['id']
    for role in granted:
        grant(admin, project, user, roles[role])


def grant(admin, project, user, role):
    admin.call('PUT', 'identity', '/projects/%s/users/%s/roles/%s' % (project, user, role))


def make_catalogue(admin):
    """Updates the endpoints when ports have changed. Keystone's bootstrap has created its own."""
    services = {s['type']: s for s in admin.get('identity', '/services')['services']}
    endpoints = {(e['service_id'], e['interface']): e
                 for e in admin.get('identity', '/endpoints')['endpoints']}
    for kind, name, _ in SERVICES + (('identity', 'keystone', None),):
        service = services.get(kind) or admin.call(
            'POST', 'identity', '/services', {'service': {'type': kind, 'name': name}})['service']
        for interface in ('public', 'internal', 'admin'):
            make_endpoint(admin, endpoints.get((service['id'], interface)), {
                'service_id': service['id'], 'interface': interface,
                'region_id': cloud.REGION, 'url': admin.urls[kind]})


def make_endpoint(admin, found, wanted):
    if not found:
        admin.call('POST', 'identity', '/endpoints', {'endpoint': wanted})
    elif found['url'] != wanted['url']:
        admin.call('PATCH', 'identity', '/endpoints/' + found['id'],
                   {'endpoint': {'url': wanted['url']}})
