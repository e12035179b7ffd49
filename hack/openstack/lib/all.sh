# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Everything that up, down and status share.

for library in options release machine report process template packages root wsgi mariadb schema bootstrap \
  keystone neutron octavia placement nova barbican ovn openvswitch dataplane; do
  # shellcheck disable=SC1090  # one file after the other
  . "$(dirname -- "${BASH_SOURCE[0]}")/$library.sh"
done

# The services with an HTTP API.
APIS="keystone neutron octavia placement nova barbican"

# processes: the names of all processes of this cloud.
processes() {
  echo mariadb
  [ "$PROVIDER" != ovn ] || echo ovn-northbound ovn-southbound ovn-northd
  [ "$DATAPLANE" = 0 ] || echo openvswitch-database openvswitch-switch ovn-controller
  echo "$APIS"
  [ "$PROVIDER" != ovn ] || echo octavia-driver-agent
}

# port_of PROCESS
port_of() {
  case $1 in
    keystone) echo "$PORT_IDENTITY" ;;
    neutron) echo "$PORT_NETWORK" ;;
    octavia) echo "$PORT_LOAD_BALANCER" ;;
    placement) echo "$PORT_PLACEMENT" ;;
    nova) echo "$PORT_COMPUTE" ;;
    barbican) echo "$PORT_KEY_MANAGER" ;;
    *) echo - ;;
  esac
}
