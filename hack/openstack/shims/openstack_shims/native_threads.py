# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a service with native threads instead of eventlet needs before it is loaded: the services of
wsgi_server, and octavia-driver-agent.

A library imports eventlet nevertheless. Then oslo.log 5 assumes that the service runs in eventlet,
and gives logging locks that wait in eventlet's hub. Two threads that log at the same time may wait
forever, one of them while it holds the lock of a project's quota in the database (bug 1983863 of
oslo.log).

To debug other hangs: on signal USR1 the process writes the stacks of its threads to its .out file.
"""

import faulthandler
import signal

from oslo_log import log

log._fix_eventlet_logging = lambda: None
faulthandler.register(signal.SIGUSR1, all_threads=True)
