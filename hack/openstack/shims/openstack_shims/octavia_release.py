# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""The differences between the releases of Octavia that these shims support: 11, which is 2022.2,
and 16 and newer."""

from importlib import metadata

IS_11 = metadata.version('octavia').split('.')[0] == '11'
