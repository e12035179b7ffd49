# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of Keystone."""

from keystone.server import wsgi

application = wsgi.initialize_public_application()
