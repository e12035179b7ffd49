#!/bin/bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Stops only what up.sh has started. PURGE=1 removes the state.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/all.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/all.sh"

main() {
  locate_state
  if [ ! -d "$STATE/run" ]; then
    say "there is no cloud in $STATE"
    tell_others
    return
  fi
  kept_release
  lock_state
  # Only the tools for an orderly stop are in the root; without it all processes are ended
  # nevertheless.
  if needs_root && has_root; then
    (enter_root "$HERE/down.sh")
  else
    isolate
    stop_all
    phase "stopped, $STATE"
  fi
  # In the root the state is a mount point.
  if [ "${PURGE:-0}" = 1 ] && ! is_in_root; then purge; fi
}

# stop_all uses the pid files, so it needs no options and misses no process.
stop_all() {
  local name file
  ovn_environment
  for name in octavia-driver-agent nova octavia barbican placement neutron keystone; do stop "$name" & done
  dataplane_stop
  wait
  for name in ovn-northd ovn-southbound ovn-northbound; do stop "$name" & done
  stop mariadb 20
  wait
  for file in "$STATE"/run/*.pid; do
    if [ -e "$file" ]; then stop "$(basename "$file" .pid)"; fi
  done
}

# purge removes only a folder that openstack-up has created.
purge() {
  [ -e "$STATE/.openstack" ] || [ -e "$STATE/options" ] || fail "$STATE was not made by openstack-up (it has no file .openstack): it is not removed"
  rm -rf "$STATE"
  say "removed $STATE"
}

# tell_others: the caller may mean the cloud of another provider.
tell_others() {
  local folder
  for folder in "$ROOT"/.cache/openstack/*/; do
    if ls "$folder"run/*.pid >/dev/null 2>&1; then say "there is one in ${folder%/}: set OPENSTACK_PROVIDER or OPENSTACK_STATE"; fi
  done
}

main
