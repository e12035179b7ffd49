# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes Octavia reuse its network driver. Otherwise it creates one for each check of a request and
each task of the worker, and each reads Neutron's extensions again: 40 requests for a load balancer.
"""

import functools

from octavia.common import utils

utils.get_network_driver = functools.cache(utils.get_network_driver)
