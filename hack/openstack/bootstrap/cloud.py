# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Calls to the services of the cloud."""

import requests

REGION = 'RegionOne'
TENANT = 'k8s'  # has the data plane, if there is one


class Cloud:
    """The cloud as one user sees it."""

    def __init__(self, settings, user, password, project):
        self.settings = settings
        self.urls = settings['endpoints']
        self._credentials = user, password, project
        self._session = requests.Session()
        self._session.trust_env = False
        self._sign_in()

    def _sign_in(self):
        user, password, project = self._credentials
        domain = {'id': 'default'}
        body = {'auth': {
            'identity': {'methods': ['password'], 'password': {'user': {
                'name': user, 'domain': domain, 'password': password}}},
            'scope': {'project': {'name': project, 'domain': domain}}}}
        url = self.urls['identity'] + '/auth/tokens'
        answer = self._send('POST', url, body)
        if answer.status_code != 201:
            raise SystemExit('openstack: user %s cannot sign in at %s: %s %s' % (
                user, url, answer.status_code, answer.text[:500]))
        self.token = answer.json()['token']
        self._session.headers['X-Auth-Token'] = answer.headers['X-Subject-Token']

    def _send(self, method, url, body):
        try:
            return self._session.request(method, url, json=body, timeout=120)
        except requests.RequestException as error:
            raise SystemExit('openstack: %s %s: %s' % (method, url, error))

    def call(self, method, service, path, body=None):
        """Returns the JSON of the answer. An error ends the program."""
        url = self.urls[service] + path
        answer = self._send(method, url, body)
        if answer.status_code == 401:  # the lifetime of tokens may be configured to seconds
            self._sign_in()
            answer = self._send(method, url, body)
        if answer.status_code >= 400:
            raise SystemExit('openstack: %s %s: %s %s' % (
                method, url, answer.status_code, answer.text[:500]))
        return answer.json() if answer.content else None

    def get(self, service, path):
        return self.call('GET', service, path)

    def ensure(self, service, path, kind, **wanted):
        """Returns the object of this kind and name, and creates it if it does not exist. Several
        projects may have objects with the same name."""
        keys = [key for key in ('name', 'project_id') if key in wanted]
        query = '&'.join('%s=%s' % (key, wanted[key]) for key in keys)
        answer = self.get(service, '%s?%s' % (path, query))
        found = next(value for key, value in answer.items()
                     if isinstance(value, list) and not key.endswith('_links'))
        return found[0] if found else self.call('POST', service, path, {kind: wanted})[kind]


def administrator(settings):
    return Cloud(settings, 'admin', settings['admin_password'], 'admin')


def tenant(settings, name=TENANT):
    """The cloud as its tenant sees it. The tenant's user and project have the same name."""
    return Cloud(settings, name, settings['password'], name)
