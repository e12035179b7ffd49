# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Provider drivers report to the driver agent over sockets whose place is
fixed in octavia-lib, below /var/run. Here they are where the state is."""

import os

from octavia_lib.api.drivers import driver_lib

FOLDER = os.environ['OCTAVIA_SOCKETS']

_places = tuple(os.path.join(FOLDER, 'octavia-%s.sock' % name)
                for name in ('status', 'stats', 'get'))
_create = driver_lib.DriverLibrary.__init__
_create.__defaults__ = _places + _create.__defaults__[len(_places):]
