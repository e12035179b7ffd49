# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Open vSwitch with its userspace datapath, in a separate network namespace. Debian 12's 3.1.0
# aborts in its connection tracking when source ports are reused. Debian 13's 3.5.0 does not; it
# runs here with its own libc, unpacked into the cache and not installed.

NEWER_PACKAGES="openvswitch-switch openvswitch-common libc6 libssl3t64 libunbound8 libcap-ng0 libnuma1
  libxdp1 libbpf1 libelf1t64 zlib1g libevent-2.1-7t64 libhogweed6t64 libnettle8t64 libgmp10 libzstd1 libexpat1
  libnghttp2-14 libgcc-s1 libatomic1 libprotobuf-c1 libngtcp2-16 libngtcp2-crypto-gnutls8"

# openvswitch_choose: sets VSWITCHD, the command, and VSWITCH_SCHEMA.
openvswitch_choose() {
  local root=$CACHE/openvswitch libraries loader
  VSWITCHD=(ovs-vswitchd) VSWITCH_SCHEMA=/usr/share/openvswitch/vswitch.ovsschema
  [ "$OPENVSWITCH" = newer ] || return 0
  unpack_newer_once "$root"
  libraries=$(echo "$root"/usr/lib/*-linux-gnu*)
  loader=$(echo "$libraries"/ld-linux*.so.*)
  VSWITCHD=("$loader" --library-path "$libraries" "$root/usr/lib/openvswitch-switch/ovs-vswitchd")
  VSWITCH_SCHEMA=$root/usr/share/openvswitch/vswitch.ovsschema
  "${VSWITCHD[@]}" --version >/dev/null || fail "the Open vSwitch in $root does not run: remove it, or set OPENSTACK_OPENVSWITCH=packaged"
}

unpack_newer_once() {
  exec 8>"$CACHE/openvswitch.lock"
  flock 8
  [ -e "$1/.complete" ] || unpack_newer "$1"
  exec 8>&-
}

unpack_newer() {
  local work=$1.work log=$STATE/log/openvswitch-unpack.log package
  say "downloading a newer Open vSwitch to $1"
  rm -rf "$1" "$work"
  mkdir -p "$work"/{lists/partial,cache/archives/partial,packages}
  # shellcheck disable=SC2086  # a list of words
  (fetch_newer "$work" $NEWER_PACKAGES) >"$log" 2>&1 || {
    tail -n 20 "$log" >&2
    fail "packages of Debian 13 could not be fetched: see $log, or set OPENSTACK_OPENVSWITCH=packaged"
  }
  for package in "$work"/packages/*.deb; do dpkg-deb -x "$package" "$1"; done
  rm -rf "$work"
  touch "$1/.complete"
}

# fetch_newer FOLDER PACKAGE...: from the machine's mirror, but with separate lists and settings, so
# that the machine's own apt does not use Debian 13.
fetch_newer() {
  local work=$1 mirror settings
  shift
  # shellcheck disable=SC2016  # apt-get fills these in
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(COMPONENT)' 'Created-By: Packages' | awk '$2 == "main" { print $1; exit }')
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/sources.list"
  settings=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=/dev/null -o "Dir::State::lists=$work/lists"
    -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false)
  cd "$work/packages" && apt-get "${settings[@]}" update && apt-get "${settings[@]}" download "${@/%//trixie}"
}

vswitch() { ovs-vsctl --retry --timeout=20 --db="unix:$STATE/run/vswitch.sock" "$@"; }

# openvswitch_start: the switch, and the OVN controller that programs it. Its
# chassis has the name of the host to which Nova and Neutron bind ports.
openvswitch_start() {
  [ -s "$STATE/ovn/conf.db" ] || ovsdb-tool create "$STATE/ovn/conf.db" "$VSWITCH_SCHEMA"
  start openvswitch-database - - ovsdb-server --remote="punix:$STATE/run/vswitch.sock" --unixctl="$STATE/run/openvswitch-database.ctl" \
    --log-file="$STATE/log/openvswitch-database.log" -vconsole:off "$STATE/ovn/conf.db"
  vswitch --no-wait init
  vswitch --no-wait set Open_vSwitch . \
    external-ids:system-id=compute-1 external-ids:hostname=compute-1 \
    external-ids:ovn-remote="unix:$STATE/run/ovnsb_db.sock" external-ids:ovn-monitor-all=true \
    external-ids:ovn-encap-type=geneve external-ids:ovn-encap-ip="$HOST" external-ids:ovn-bridge-datapath-type=netdev \
    external-ids:ovn-bridge-mappings=public:br-ex external-ids:ovn-cms-options=enable-chassis-as-gw
  start openvswitch-switch - - ip netns exec "$PREFIX-switch" "${VSWITCHD[@]}" --monitor "unix:$STATE/run/vswitch.sock" \
    --unixctl="$STATE/run/openvswitch-switch.ctl" --log-file="$STATE/log/openvswitch-switch.log" -vconsole:off
  vswitch --may-exist add-br br-int -- set bridge br-int datapath_type=netdev fail-mode=secure \
    -- --may-exist add-br br-ex -- set bridge br-ex datapath_type=netdev
  start ovn-controller - - ovn-controller "unix:$STATE/run/vswitch.sock" --log-file="$STATE/log/ovn-controller.log" -vconsole:off
}

# openvswitch_register: Neutron 21 reads the settings of a chassis from a column that OVN 23.03
# leaves empty. Without this copy it finds no bridge to the public network, and routers have no
# gateway.
openvswitch_register() {
  within 15 chassis_is_there || give_up "ovn-controller has not registered its chassis"
  southbound set Chassis compute-1 external_ids:ovn-bridge-mappings='"public:br-ex"' \
    external_ids:ovn-cms-options=enable-chassis-as-gw external_ids:datapath-type=netdev
}

chassis_is_there() { southbound --bare --columns=name find Chassis name=compute-1 | grep -q .; }

# openvswitch_stop: the controller is stopped with its own command, so that it removes its chassis
# from the database. The switch's monitor ignores commands while its child runs, so the child is
# stopped.
openvswitch_stop() {
  local controller
  if controller=$(process_pid ovn-controller); then
    ovs-appctl --timeout=5 -t "$STATE/run/ovn-controller.$controller.ctl" exit >/dev/null 2>&1 || true
  fi
  stop ovn-controller
  if is_running openvswitch-switch; then
    ovs-appctl --timeout=5 -t "$STATE/run/openvswitch-switch.ctl" exit >/dev/null 2>&1 || true
  fi
  stop openvswitch-switch
  stop openvswitch-database
  rm -f "$STATE"/ovn/conf.db "$STATE"/ovn/.conf.db.~lock~
}

answers_openvswitch_database() { ovs-appctl --timeout=5 -t "$STATE/run/openvswitch-database.ctl" version; }
answers_openvswitch_switch() { ovs-appctl --timeout=5 -t "$STATE/run/openvswitch-switch.ctl" version; }
answers_ovn_controller() {
  ovs-appctl --timeout=5 -t "$STATE/run/ovn-controller.$(process_pid ovn-controller).ctl" connection-status | grep -qx connected
}
