# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The WSGI services run under uWSGI: one process, a few threads.

# start_uwsgi NAME PORT CONFIGURATION THREADS APPLICATION... -- NAME=VALUE...
# uWSGI's plain HTTP socket closes each connection after the answer; without
# the header clients would take it for a connection that is kept.
start_uwsgi() {
  local name=$1 port=$2 configuration=$3 threads=$4 application=()
  shift 4
  while [ "$1" != -- ]; do application+=("$1") && shift; done
  shift
  start "$name" "$port" "$configuration" env "$@" "$(uwsgi_program)" "${application[@]}" \
    --http-socket "$HOST:$port" --add-header 'Connection: close' --listen 100 --buffer-size 65535 \
    --processes 1 --threads "$threads" --enable-threads --thunder-lock --shared-import openstack_shims.native_threads \
    --need-app --die-on-term --disable-logging --procname-prefix-spaced "$name"
}

uwsgi_program() {
  local program
  for program in /usr/bin/uwsgi_python311 /usr/bin/uwsgi_python3; do
    if [ -x $program ]; then echo $program && return; fi
  done
  fail "the package uwsgi-plugin-python3 has no /usr/bin/uwsgi_python3"
}
