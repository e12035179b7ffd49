# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
"""What a service with native threads, and not in eventlet, needs before it is
loaded: those of wsgi_server, and octavia-driver-agent.

Some library imports eventlet all the same. oslo.log 5 takes that for a service
that runs in eventlet, and gives logging locks that wait in eventlet's hub. Two
threads that log at the same time may then wait for ever, one of them with a
project's quota locked in the database (bug 1983863 of oslo.log).

Whatever else hangs can be asked where: on signal USR1 the process writes the
stacks of its threads to its .out file.
"""

import faulthandler
import signal

from oslo_log import log

log._fix_eventlet_logging = lambda: None
faulthandler.register(signal.SIGUSR1, all_threads=True)
