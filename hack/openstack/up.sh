#!/bin/bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Starts a real OpenStack on this machine; see README.md. With --check it only checks whether the
# machine is suitable.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/all.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/all.sh"

main() {
  locate_state
  read_options
  check_machine
  [ "${1:-}" != --check ] || return 0
  refuse_other_cloud
  make_folders
  lock_state
  if needs_root; then
    make_root
    [ "$DATAPLANE" = 0 ] || prepare_namespaces
    enter_root "$HERE/up.sh" "$@"
  fi
  isolate
  check_ports
  if ! is_in_root; then
    # shellcheck disable=SC2046  # a list of words
    install_packages $(required_packages)
    phase packages
  fi
  configure
  start_foundation
  phase "database, tables"
  start_services
  bootstrap_identity
  phase "Keystone, users, catalogue"
  nova_start
  wait_for_services
  phase "Neutron, Octavia, Nova, Barbican"
  bootstrap resources
  phase "networks, servers"
  if [ "$DATAPLANE" = 1 ]; then
    dataplane_plug
    phase "data plane"
  fi
  total
  tell
}

check_ports() {
  local service
  for service in $APIS; do
    is_running "$service" || require_free_port "$service" "$(port_of "$service")"
  done
}

configure() {
  local service
  make_secrets
  for service in $APIS; do "${service}_configure"; done
  write_settings
  forget_entry_points
  # All tools of OVN use its folders, so this comes first.
  [ "$PROVIDER" != ovn ] || ovn_environment
  [ "$DATAPLANE" = 1 ] || dataplane_stop
  keep_options
}

# forget_entry_points: the services cache the list of drivers, and do not notice that the shims have
# changed.
forget_entry_points() {
  local now
  now=$(sha256sum <"$HERE/shims/openstack_shims-1.0.dist-info/entry_points.txt")
  [ "$now" != "$(cat "$STATE/run/entry-points" 2>/dev/null)" ] || return 0
  rm -rf "$STATE/home/cache/python-entrypoints"
  echo "$now" >"$STATE/run/entry-points"
}

start_foundation() {
  mariadb_start
  [ "$PROVIDER" != ovn ] || ovn_start
  [ "$DATAPLANE" = 0 ] || dataplane_start
  wait_for mariadb 180
  make_schemas
  octavia_statuses
  nova_cells
}

start_services() {
  keystone_bootstrap
  keystone_start
  neutron_start
  octavia_start
  barbican_start
  placement_start
  wait_for keystone 180
}

wait_for_services() {
  local name
  # shellcheck disable=SC2046  # a list of words
  for name in $(processes); do wait_for "$name" 180; done
}

tell() {
  say "Keystone is at $(keystone_url), for the openstack client:"
  say "  export OS_CLIENT_CONFIG_FILE=$STATE/out/clouds.yaml OS_CLOUD=k8s"
  say "cloud.conf and ids.json are in $STATE/out, logs in $STATE/log"
}

main "$@"; exit # now, lest bash reads on in a file that has changed
