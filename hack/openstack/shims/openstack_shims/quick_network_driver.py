# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets Octavia keep its network driver. It makes one for each check of a
request and each task of the worker, and each asks Neutron anew which
extensions there are: 40 requests for a load balancer.
"""

import functools

from octavia.common import utils

utils.get_network_driver = functools.cache(utils.get_network_driver)
