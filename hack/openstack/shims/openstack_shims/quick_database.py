# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Reduces the queries of Neutron and Octavia, which make a thousand for one load balancer. What
they read and write stays the same. It must be imported before their models.

Related objects are loaded together with an object. These releases load many of them with
subqueries, one for each kind and object, which SQLAlchemy builds again each time: two thirds of the
time that Neutron takes for a port.

oslo.db does not check before each use of a connection that the database is reachable: it is on this
machine, and stops after the services. Nor does oslo.db yield to another thread after each use,
which is only necessary with eventlet.
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
