# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""Serves a WSGI application: wsgi_server ADDRESS:PORT THREADS MODULE."""

from openstack_shims import native_threads  # noqa: F401  # before anything that logs

import importlib
import logging
import signal
import sys

import waitress

HOUR = 3600  # seconds


def main():
    listen, threads, module = sys.argv[1:]
    del sys.argv[1:]  # services would parse them as their own
    application = importlib.import_module(module).application
    # Neutron ignores the signal and continues.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # Requests that wait for a thread are normal here, so they are not logged.
    logging.getLogger('waitress.queue').setLevel(logging.ERROR)
    # If the server closes a connection while a client sends a request, the request fails. So
    # clients close connections; the server closes only abandoned ones.
    waitress.serve(application, listen=listen, threads=int(threads),
                   connection_limit=1000, channel_timeout=HOUR, asyncore_use_poll=True)


main()
