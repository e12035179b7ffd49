# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The WSGI services run under waitress, which is written in Python: one process, a
# few threads. So they run in Debian's python3 itself, which is a fifth faster than the library
# libpython that servers written in C load.

# start_wsgi NAME PORT CONFIGURATION THREADS MODULE NAME=VALUE...: MODULE is one of the shims, and
# defines "application".
start_wsgi() {
  local name=$1 port=$2 configuration=$3 threads=$4 module=$5
  shift 5
  start "$name" "$port" "$configuration" env "$@" \
    "$PYTHON" -m openstack_shims.wsgi_server "$HOST:$port" "$threads" "openstack_shims.$module"
}
