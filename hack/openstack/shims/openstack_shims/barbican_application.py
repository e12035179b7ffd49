# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The WSGI application of barbican-api."""

import os

from paste import deploy

application = deploy.loadapp('config:' + os.environ['BARBICAN_PASTE'])
