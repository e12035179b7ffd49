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
    del sys.argv[1:]  # services take it for their own
    application = importlib.import_module(module).application
    # Neutron takes note of the signal and goes on.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    # That requests wait for a thread is no news here.
    logging.getLogger('waitress.queue').setLevel(logging.ERROR)
    # A connection that is closed in the moment in which a client sends a request is a
    # failed request: clients are those who close, unless they have forgotten it.
    waitress.serve(application, listen=listen, threads=int(threads),
                   connection_limit=1000, channel_timeout=HOUR, asyncore_use_poll=True)


main()
