# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# OVN: its two databases and northd, which translates networks, security groups and load balancers
# into flows. Unix sockets only.

# ovn_environment: all tools of OVS and OVN use these sockets instead of the machine's.
ovn_environment() {
  mkdir -p "$STATE/ovn"
  export OVS_RUNDIR=$STATE/run OVN_RUNDIR=$STATE/run OVS_LOGDIR=$STATE/log OVN_LOGDIR=$STATE/log
  export OVS_DBDIR=$STATE/ovn OVN_DBDIR=$STATE/ovn OVS_SYSCONFDIR=$STATE/ovn
}

ovn_start() {
  ovn_database ovn-northbound nb
  ovn_database ovn-southbound sb
  # The tools do not wait for a socket that does not exist yet.
  wait_for ovn-northbound 30
  wait_for ovn-southbound 30
  northbound init
  southbound init
  start ovn-northd - - ovn-northd --ovnnb-db="unix:$STATE/run/ovnnb_db.sock" --ovnsb-db="unix:$STATE/run/ovnsb_db.sock" \
    --unixctl="$STATE/run/ovn-northd.ctl" --log-file="$STATE/log/ovn-northd.log" -vconsole:off
}

# ovn_database NAME nb|sb
ovn_database() {
  [ -s "$STATE/ovn/$2.db" ] || ovsdb-tool create "$STATE/ovn/$2.db" "/usr/share/ovn/ovn-$2.ovsschema"
  start "$1" - - ovsdb-server --remote="punix:$STATE/run/ovn$2_db.sock" --unixctl="$STATE/run/$1.ctl" \
    --log-file="$STATE/log/$1.log" -vconsole:off "$STATE/ovn/$2.db"
}

northbound() { ovn-nbctl --timeout=20 --db="unix:$STATE/run/ovnnb_db.sock" --no-leader-only "$@"; }
southbound() { ovn-sbctl --timeout=20 --db="unix:$STATE/run/ovnsb_db.sock" --no-leader-only "$@"; }

answers_ovn_northbound() { ovs-appctl --timeout=5 -t "$STATE/run/ovn-northbound.ctl" version; }
answers_ovn_southbound() { ovs-appctl --timeout=5 -t "$STATE/run/ovn-southbound.ctl" version; }
answers_ovn_northd() { ovs-appctl --timeout=5 -t "$STATE/run/ovn-northd.ctl" status | grep -q active; }
