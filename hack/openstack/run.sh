#!/bin/bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# run.sh COMMAND...: runs the command where the packages of the cloud's release are installed, with
# the environment of its services: `run.sh openstack loadbalancer list`, `run.sh ovn-nbctl show`.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/all.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/all.sh"

main() {
  [ $# -gt 0 ] || fail "run.sh: which command? It is one of the cloud's release, such as: run.sh openstack loadbalancer list"
  locate_state
  kept_options || fail "there is no cloud in $STATE"
  if needs_root; then enter_root "$HERE/run.sh" "$@"; fi
  isolate
  [ "$PROVIDER" != ovn ] || services_of_ovn
  export OS_CLIENT_CONFIG_FILE=${OS_CLIENT_CONFIG_FILE:-$STATE/out/clouds.yaml} OS_CLOUD=${OS_CLOUD:-k8s}
  exec "$@"
}

# services_of_ovn: the tools expect these names.
services_of_ovn() {
  ovn_environment
  export OVN_NB_DB=unix:$STATE/run/ovnnb_db.sock OVN_SB_DB=unix:$STATE/run/ovnsb_db.sock
}

main "$@"
