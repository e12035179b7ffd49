# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets Neutron and Octavia, which make a thousand queries for a load balancer,
make fewer. What they read and write stays the same. To be imported before their
models are.

What belongs to an object is loaded together with the object. These releases
load much of it by subqueries, one for each kind and object, which SQLAlchemy
builds anew each time: two thirds of the time that Neutron takes for a port.

oslo.db does not ask before each use of a connection whether the database is
there: it is on this machine, and ends after they do. Nor does it let another
thread run after each, as it has to under eventlet.
"""

from oslo_db.sqlalchemy import engines
from sqlalchemy.orm import relationships

_init = relationships.RelationshipProperty.__init__


def _joined(self, *args, **options):
    if options.get('lazy') == 'subquery':
        options['lazy'] = 'joined'
    _init(self, *args, **options)


relationships.RelationshipProperty.__init__ = _joined
engines._connect_ping_listener = lambda connection, branch: None
engines._thread_yield = lambda connection, record: None
