# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Lets Octavia read an object, with everything that belongs to it, in one
transaction. Otherwise each of its twenty and more queries takes a connection and
gives it back with a rollback of its own, a third of the time that a read takes.
"""

import functools
import inspect

from octavia.db import repositories


def in_one_transaction(read):
    @functools.wraps(read)
    def begin_and_read(self, session, *arguments, **options):
        with session.begin(subtransactions=True):
            return read(self, session, *arguments, **options)
    return begin_and_read


def takes_session(method):
    return list(inspect.signature(method).parameters)[1:2] == ['session']


for _, repository in inspect.getmembers(repositories, inspect.isclass):
    if issubclass(repository, repositories.BaseRepository):
        for name, method in inspect.getmembers(repository, inspect.isfunction):
            if name in vars(repository) and name.startswith('get') and takes_session(method):
                setattr(repository, name, in_one_transaction(method))
