# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The data plane: Neutron's ports in network namespaces, on one OVN chassis.
#
#   PREFIX-switch   Open vSwitch, and the switch's ends of all cables
#   PREFIX-NAME     a Nova server: eth0 is its Neutron port
#   PREFIX-client   a client in the network of the nodes
#   PREFIX-pod-N    a Pod with its own port
#   PREFIX-outside  the public network's gateway, and the internet behind it
#   PREFIX-pods     a place for Pods: any address can be bound and reached in it

# An address "in the internet", behind the public network's gateway.
INTERNET_ADDRESS=198.51.100.7

dataplane_start() {
  namespace switch
  openvswitch_choose
  openvswitch_start
}

# dataplane_plug: can be repeated at any time; new servers are plugged in.
dataplane_plug() {
  openvswitch_register
  bootstrap ports >"$STATE/tmp/ports" || exit 1
  unplug_gone
  plug_ports
  plug_outside
  make_pods
  wait_for_ports
  wait_for_gateway
  bootstrap data-plane || exit 1
}

# namespace NAME: created once. A namespace that was not created here is not touched.
namespace() {
  local name=$PREFIX-$1
  if [ -e "/run/netns/$name" ]; then
    grep -qsx "$name" "$STATE/run/namespaces" ||
      fail "the network namespace $name is there and was not made by this cloud: choose another OPENSTACK_PREFIX"
    return 0
  fi
  ip netns add "$name"
  grep -qsx "$name" "$STATE/run/namespaces" || echo "$name" >>"$STATE/run/namespaces"
  ip -n "$name" link set lo up
  # Neutron ensures that addresses are unique.
  ip netns exec "$name" sh -c 'cd /proc/sys/net/ipv6/conf && echo 0 >all/accept_dad && echo 0 >default/accept_dad' 2>/dev/null || true
}

# unplug_gone: servers that Nova has deleted are removed from the switch, and their namespaces are
# deleted.
unplug_gone() {
  local interface id name wanted=" switch client outside pods "
  while read -r name id _; do wanted+="$name tap${id:0:11} "; done <"$STATE/tmp/ports"
  for interface in $(vswitch list-ports br-int); do
    case $interface in tap*) [[ $wanted == *" $interface "* ]] || vswitch del-port br-int "$interface" ;; esac
  done
  for name in $(<"$STATE/run/namespaces"); do
    [[ $wanted == *" ${name#"$PREFIX-"} "* ]] || delete_namespace "$name"
  done
}

plug_ports() {
  local name id mac addresses address
  while read -r name id mac addresses; do
    plug "$name" br-int "tap${id:0:11}" "$mac" "$id"
    for address in ${addresses//,/ }; do assign "$PREFIX-$name" "$address"; done
  done <"$STATE/tmp/ports"
}

# plug NAME BRIDGE INTERFACE MAC [PORT]: a cable from the namespace's eth0 to the bridge. The kernel
# must not defer checksums: the switch would see packets without them.
plug() {
  local namespace=$PREFIX-$1 switch=$PREFIX-switch bridge=$2 interface=$3 mac=$4 port=${5:-}
  namespace "$1"
  if ! ip -n "$switch" link show "$interface" >/dev/null 2>&1; then
    ip -n "$namespace" link delete eth0 2>/dev/null || true # of an earlier server with that name
    ip -n "$switch" link add "$interface" type veth peer name eth0 netns "$namespace"
    ip netns exec "$namespace" ethtool -K eth0 tx off tso off gso off >/dev/null
    ip netns exec "$switch" ethtool -K "$interface" tx off tso off gso off gro off >/dev/null
    ip -n "$namespace" link set eth0 address "$mac" mtu 1400 up
    ip -n "$switch" link set "$interface" up
  fi
  vswitch --may-exist add-port "$bridge" "$interface" \
    ${port:+-- set interface "$interface" "external-ids:iface-id=$port" "external-ids:attached-mac=$mac"}
}

# assign NAMESPACE ADDRESS: the subnets' gateways are their first addresses.
assign() {
  case $2 in
    *:*)
      ip -n "$1" address replace "$2/64" dev eth0 nodad
      ip -n "$1" -6 route replace default via "${2%%::*}::1"
      ;;
    *)
      ip -n "$1" address replace "$2/24" dev eth0
      ip -n "$1" route replace default via "${2%.*}.1"
      ;;
  esac
}

# plug_outside: the MAC address is always the same, because the router caches it.
plug_outside() {
  plug outside br-ex outside 02:00:00:24:04:01
  ip -n "$PREFIX-outside" address replace 172.24.4.1/24 dev eth0
  ip -n "$PREFIX-outside" address replace 172.24.5.1/24 dev eth0
  ip -n "$PREFIX-outside" address replace "$INTERNET_ADDRESS/32" dev lo
}

make_pods() {
  namespace pods
  ip -n "$PREFIX-pods" route replace local 0.0.0.0/0 dev lo
  ip -n "$PREFIX-pods" -6 route replace local ::/0 dev lo
}

wait_for_ports() {
  local name id rest
  while read -r name id rest; do
    within 30 port_is_installed "$id" || fail "the port $id of $name does not get to work in OVN: see $STATE/log/ovn-controller.log"
  done <"$STATE/tmp/ports"
}

port_is_installed() { vswitch get interface "tap${1:0:11}" external_ids:ovn-installed | grep -q true; }

# wait_for_gateway: packets from inside reach the internet through the router,
# and the router answers outside.
wait_for_gateway() {
  local inside=$PREFIX-client outside=$PREFIX-outside router
  within 60 router_is_scheduled || fail "Neutron has not scheduled router1 on this chassis: see $STATE/log/neutron.log"
  within 20 ip netns exec "$inside" ping -c 1 -W 1 "$INTERNET_ADDRESS" ||
    fail "no packet gets from namespace $inside through router1 to $INTERNET_ADDRESS: see the logs of ovn-controller and openvswitch-switch in $STATE/log"
  router=$(northbound --bare --columns=external_ip find NAT type=snat | head -n 1)
  within 20 ip netns exec "$outside" ping -c 1 -W 1 -I "$INTERNET_ADDRESS" "$router" ||
    fail "router1 does not answer at $router in namespace $outside"
}

router_is_scheduled() { southbound --bare --columns=chassis find Port_Binding type=chassisredirect | grep -q .; }

dataplane_stop() {
  local name
  [ -s "$STATE/run/namespaces" ] || return 0
  openvswitch_stop
  for name in $(<"$STATE/run/namespaces"); do delete_namespace "$name"; done
  rm -f "$STATE/run/namespaces"
}

# delete_namespace NAME, which is in the list of those created here.
delete_namespace() {
  if [ -e "/run/netns/$1" ]; then ip netns delete "$1"; fi
  sed -i "/^$1\$/d" "$STATE/run/namespaces"
}
