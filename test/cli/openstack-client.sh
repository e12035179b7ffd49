#!/usr/bin/env bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Runs the openstack command-line client against a fresh simulator and checks
# what it prints. Exits 0 when everything is as it should be, 1 on the first
# command that fails, prints a traceback or prints something else than expected,
# and 77 when the client is not installed (Debian: python3-openstackclient and
# python3-octaviaclient).
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! command -v openstack >/dev/null; then
    echo "openstack-client: the openstack client is not installed; on Debian: apt-get install python3-openstackclient python3-octaviaclient" >&2
    exit 77
fi
if ! openstack loadbalancer --help >/dev/null 2>&1; then
    echo "openstack-client: the openstack client lacks its load balancer plugin; on Debian: apt-get install python3-octaviaclient" >&2
    exit 77
fi

work=$(mktemp -d)
cloudsim=
finish() {
    status=$?
    if [ -n "$cloudsim" ]; then
        kill "$cloudsim" 2>/dev/null || true
        wait "$cloudsim" 2>/dev/null || true
    fi
    if [ $status -ne 0 ]; then
        echo "openstack-client: FAILED; the simulator's log:" >&2
        grep -v "password:\|^ *$" "$work/cloudsim.log" | grep -v "^ " >&2 || true
    fi
    rm -rf "$work"
}
trap finish EXIT

go build -o "$work/cloudsim" ./cmd/cloudsim
"$work/cloudsim" --data-plane --nodes node-1,node-2 --build-time 500ms --clouds-yaml "$work/clouds.yaml" --cloud-conf "$work/cloud.conf" >"$work/cloudsim.log" 2>&1 &
cloudsim=$!
for _ in $(seq 100); do
    grep -q '^# ready' "$work/cloudsim.log" && break
    kill -0 "$cloudsim"
    sleep 0.1
done
grep -q '^# ready' "$work/cloudsim.log"
unset "${!OS_@}"
export OS_CLIENT_CONFIG_FILE="$work/clouds.yaml" OS_CLOUD=cloudsim

checks=0
fail() {
    echo "openstack-client: $*" >&2
    exit 1
}

# run COMMAND...: runs the client; its output is then in $out.
run() {
    if ! openstack "$@" >"$work/out" 2>"$work/err"; then
        cat "$work/out" "$work/err" >&2
        fail "failed: openstack $*"
    fi
    if grep -q Traceback "$work/out" "$work/err"; then
        cat "$work/err" >&2
        fail "traceback: openstack $*"
    fi
    out=$(<"$work/out")
    checks=$((checks + 1))
    echo "ok: openstack $*"
}

# expect WANT COMMAND...: runs the client and compares its whole output.
expect() {
    want=$1
    shift
    run "$@"
    [ "$out" = "$want" ] || fail "openstack $* printed"$'\n'"$out"$'\n'"instead of"$'\n'"$want"
}

# matches PATTERN COMMAND...: the output has a line that matches.
matches() {
    pattern=$1
    shift
    run "$@"
    grep -Eq -- "$pattern" <<<"$out" || fail "openstack $* printed"$'\n'"$out"$'\n'"without a line like $pattern"
}

# refused PATTERN COMMAND...: the client must fail with an error that matches,
# and without a traceback.
refused() {
    pattern=$1
    shift
    if openstack "$@" >"$work/out" 2>"$work/err"; then
        fail "openstack $* should have failed"
    fi
    grep -q Traceback "$work/err" && fail "traceback: openstack $*"
    grep -Eq -- "$pattern" "$work/err" || fail "openstack $* said $(<"$work/err"), nothing like $pattern"
    checks=$((checks + 1))
    echo "ok: openstack $* is refused"
}

uuid='[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'
address='127\.[0-9]+\.[0-9]+\.[0-9]+'

# Identity.
matches '^[0-9a-f]{32}$' token issue -f value -c project_id
matches '\| expires ' token issue
matches 'load-balancer' catalog list
matches '^k8s$' --os-cloud cloudsim-admin project list -f value -c Name
matches '^controller$' application credential create controller -f value -c name
matches '^controller$' application credential list -f value -c Name
run application credential delete controller

# Network.
expect $'private\npublic' network list --sort-column Name -f value -c Name
expect 'public' network list --external -f value -c Name
matches "^$address/17$" subnet show private-subnet -f value -c cidr
matches '^private-subnet-v6$' subnet list -f value -c Name
matches '^router$' router list -f value -c Name
matches 'ACTIVE' router show router
matches 'compute:nova' port list --long
expect 'default' security group list -f value -c Name
matches 'ingress' security group rule list default
run security group create web
run security group rule create --protocol tcp --dst-port 80 web
matches '80:80' security group rule list web
run security group delete web

# Compute.
expect $'node-1 ACTIVE\nnode-2 ACTIVE' server list --sort-column Name -f value -c Name -c Status
matches "'private': \['$address'" server list -f value -c Networks
matches "$address" server show node-1
expect 'node-2' server list --name '^node-2$' -f value -c Name
matches 'm1.small' flavor list

# A load balancer, part by part.
matches 'amphora' loadbalancer provider list
run loadbalancer flavor list
run loadbalancer flavorprofile list --os-cloud cloudsim-admin
run loadbalancer availabilityzone list
matches 'load_balancer' loadbalancer quota show "$(openstack token issue -f value -c project_id)"
matches 'load_balancer' loadbalancer quota defaults show --os-cloud cloudsim-admin
run loadbalancer create --name web --vip-subnet-id private-subnet --description 'the shop' --tag shop --wait
expect 'ACTIVE' loadbalancer show web -f value -c provisioning_status
matches "web .*$address .*ACTIVE" loadbalancer list
expect 'web' loadbalancer list --tags shop -f value -c name
expect '' loadbalancer list --tags none -f value -c name
vip=$(openstack loadbalancer show web -f value -c vip_address)
port=$(openstack loadbalancer show web -f value -c vip_port_id)
matches "^octavia-lb-$uuid$" port show "$port" -f value -c name
expect 'Octavia' port show "$port" -f value -c device_owner

run loadbalancer pool create --name http --protocol TCP --lb-algorithm ROUND_ROBIN --loadbalancer web --wait
run loadbalancer member create --name one --address 127.0.0.1 --protocol-port 9001 --subnet-id private-subnet http --wait
run loadbalancer member create --name two --address 127.0.0.1 --protocol-port 9002 http --wait
run loadbalancer healthmonitor create --name check --type TCP --delay 5 --timeout 3 --max-retries 2 http --wait
run loadbalancer listener create --name http --protocol TCP --protocol-port 8080 --default-pool http --allowed-cidr 127.0.0.0/8 web --wait
matches 'http .*TCP .*8080' loadbalancer listener list
matches '^8080$' loadbalancer listener show http -f value -c protocol_port
matches 'http .*TCP .*ROUND_ROBIN' loadbalancer pool list
matches 'ROUND_ROBIN' loadbalancer pool show http
expect $'one 9001\ntwo 9002' loadbalancer member list http --sort-column name -f value -c name -c protocol_port
matches '^127.0.0.1$' loadbalancer member show http one -f value -c address
matches 'check .*TCP' loadbalancer healthmonitor list
matches '^5$' loadbalancer healthmonitor show check -f value -c delay
run loadbalancer member set --weight 5 http one --wait
expect '5' loadbalancer member show http one -f value -c weight
run loadbalancer listener set --connection-limit 100 http --wait
expect '100' loadbalancer listener show http -f value -c connection_limit
run loadbalancer set --name shop --description 'still the shop' web --wait
expect 'still the shop' loadbalancer show shop -f value -c description
matches '"name": "two"' loadbalancer status show shop
matches 'total_connections' loadbalancer stats show shop
matches 'total_connections' loadbalancer listener stats show http
refused 'children|Cannot delete|409|400' loadbalancer delete shop

# Floating IPs.
run floating ip create public -f value -c floating_ip_address
fip=$out
[[ $fip =~ ^$address$ ]] || fail "the floating IP is '$fip'"
run floating ip set --port "$port" "$fip"
expect "$vip"$'\n'"$port" floating ip show "$fip" -f value -c port_id -c fixed_ip_address
matches "^$fip " floating ip list -f value -c 'Floating IP Address' -c 'Fixed IP Address'
matches "$vip" floating ip list --port "$port"
run floating ip unset --port "$fip"
run floating ip set --port "$port" "$fip"

# The end.
run loadbalancer member delete http two --wait
run loadbalancer healthmonitor delete check --wait
run loadbalancer delete --cascade shop --wait
expect '' loadbalancer list -f value
expect '' loadbalancer listener list -f value
expect 'None' floating ip show "$fip" -f value -c port_id
run floating ip delete "$fip"
expect '' floating ip list -f value
refused 'No Port|not found|could not be found|No .* found' port show "$port"
refused 'Unable to locate|not found|No .* found' loadbalancer show shop

kill "$cloudsim"
wait "$cloudsim" || fail "the simulator did not end well: status $?"
cloudsim=
echo "openstack-client: ok, $checks commands"
