# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""octavia-worker as a server within another process.

The API sends jobs before it commits the objects that they need. A broker takes longer than the
commit, but the in-memory transport does not: a worker that starts too early finds nothing and tries
again after a second. So each job waits until its request has ended. A job is dropped if MariaDB has
rolled back its request because of a deadlock: the request was answered with 500 and has changed
nothing, but the worker would carry it out a minute later, and recreate a load balancer that was
deleted meanwhile.

OCTAVIA_WORKER_DELAY, in seconds, makes jobs wait longer, as in a cloud with slow amphorae. Jobs of
a load balancer also wait as long as OCTAVIA_HOLD contains a file with its id, so that tests can
check what the API answers meanwhile.
"""

import functools
import inspect
import os
import threading
import time

import oslo_messaging
from octavia.common import constants
from octavia.common import rpc
from octavia.controller.queue.v2 import endpoints
from openstack_shims import octavia_release
from oslo_config import cfg
from oslo_messaging.rpc import dispatcher

DELAY = float(os.environ['OCTAVIA_WORKER_DELAY'])
HOLD = os.environ['OCTAVIA_HOLD']
LONGEST_HOLD = 60  # seconds
LONGEST_REQUEST = 60  # seconds

request = threading.local()  # .ended: the Request of the thread


class Request(threading.Event):
    """Is set when the request has ended."""

    rolled_back = False


def tells_its_end(application):
    """The WSGI application; it tells the jobs when their request has ended."""
    def serve(environ, start_response):
        request.ended = Request()
        try:
            answer = list(application(environ, start_response))
            request.ended.rolled_back = any(b'Deadlock found when trying to get lock' in part for part in answer)
            return answer
        finally:
            request.ended.set()
            del request.ended
    return serve


def cast(self, context, method, _cast=oslo_messaging.RPCClient.cast, **options):
    ended = getattr(request, 'ended', None)
    return _cast(self, dict(context, request_ended=ended), method, **options)


class DelayedEndpoints(endpoints.Endpoints):
    """Octavia's endpoints; each job waits before it begins."""


def wait_while_held(job):
    end = time.monotonic() + LONGEST_HOLD
    while any(held in job for held in os.listdir(HOLD)) and time.monotonic() < end:
        time.sleep(0.05)


def delayed(job):
    @functools.wraps(job)
    def wait_and_run(self, context, *arguments, **options):
        ended = context.pop('request_ended', None)
        if ended is not None:
            ended.wait(LONGEST_REQUEST)
            if ended.rolled_back:
                return None
        time.sleep(DELAY)
        wait_while_held(repr((arguments, options)))
        return job(self, context, *arguments, **options)
    return wait_and_run


for name, job in inspect.getmembers(endpoints.Endpoints, inspect.isfunction):
    if not name.startswith('_'):
        setattr(DelayedEndpoints, name, delayed(job))


def start():
    if octavia_release.IS_11:
        from openstack_shims import octavia_single_call
        octavia_single_call.patch()
    oslo_messaging.RPCClient.cast = cast
    if rpc.TRANSPORT is None:
        rpc.init()
    server = rpc.get_server(
        oslo_messaging.Target(topic=constants.TOPIC_AMPHORA_V2,
                              server=cfg.CONF.host, fanout=False),
        [DelayedEndpoints()], access_policy=dispatcher.DefaultRPCAccessPolicy)
    server.start()
    return server
