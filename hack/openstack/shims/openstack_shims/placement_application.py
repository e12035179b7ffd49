# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of placement-api."""

from placement import wsgi

application = wsgi.init_application()
