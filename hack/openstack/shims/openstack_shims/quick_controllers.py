# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes pecan, which dispatches requests to the controllers of Neutron and Octavia, read the
signature of each function once instead of ten times per request. It must be imported before pecan's
other modules.
"""

from pecan import compat


def _once(function, _read=compat.getargspec, _known={}):
    function = getattr(function, '__func__', function)
    if function not in _known:
        _known[function] = _read(function)
    return _known[function]


compat.getargspec = _once
