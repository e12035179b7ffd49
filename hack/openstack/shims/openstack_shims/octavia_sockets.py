# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Provider drivers report to the driver agent over sockets, for which octavia-lib uses fixed paths
below /var/run. Here they are in the folder of the state."""

import os

from octavia_lib.api.drivers import driver_lib

FOLDER = os.environ['OCTAVIA_SOCKETS']

_places = tuple(os.path.join(FOLDER, 'octavia-%s.sock' % name)
                for name in ('status', 'stats', 'get'))
_create = driver_lib.DriverLibrary.__init__
_create.__defaults__ = _places + _create.__defaults__[len(_places):]
