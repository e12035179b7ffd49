# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # the other files use what is set here
#
# The options of a cloud: read from the environment, checked, and stored with the state, so that
# status and down need only the location of the state.

ROOT=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../../.." && pwd)
HERE=$ROOT/hack/openstack
HOST=127.0.0.1
PYTHON=/usr/bin/python3

fail() {
  printf 'openstack: %s\n' "$*" >&2
  exit 1
}

# locate_state: the folder of this cloud. Each provider and release has its own folder: networks
# that were created without OVN do not exist in OVN, and no database can be downgraded.
locate_state() {
  STATE=${OPENSTACK_STATE:-$ROOT/.cache/openstack/$(default_folder)}
  case $STATE in /*) ;; *) STATE=$PWD/$STATE ;; esac
  STATE=${STATE%/}
  # A socket's path has at most 107 characters, and the longest name here adds 35.
  [ ${#STATE} -le 72 ] || fail "the path $STATE is too long for sockets below it: choose a shorter OPENSTACK_STATE"
  CACHE=${OPENSTACK_CACHE:-$(kept_cache)}
  case $CACHE in /*) ;; *) CACHE=$PWD/$CACHE ;; esac
}

read_options() {
  RELEASE=${OPENSTACK_RELEASE:-2022.2}
  PROVIDER=${OPENSTACK_PROVIDER:-amphora}
  DATAPLANE=${OPENSTACK_DATAPLANE:-0}
  PREFIX=${OPENSTACK_PREFIX:-ko}
  METADATA_PORT=${OPENSTACK_METADATA_PORT:-1}
  OPENVSWITCH=${OPENSTACK_OPENVSWITCH:-$(if is_oldest_release; then echo newer; else echo packaged; fi)}
  WORKER_DELAY=${OPENSTACK_WORKER_DELAY:-0}
  UNPATCHED=${OPENSTACK_UNPATCHED:-0}
  ONLINE=${OPENSTACK_ONLINE:-1}
  TOKEN_LIFETIME=${OPENSTACK_TOKEN_LIFETIME:-3600}
  SERVERS=${OPENSTACK_SERVERS:-4}
  DEBUG=${OPENSTACK_DEBUG:-0}
  read_ports
  check_options
  DEBUG_LOG=$(true_if "$DEBUG")
}

# read_ports: the default ports, or six consecutive ones, or each as configured.
read_ports() {
  local base=${OPENSTACK_PORT_BASE:-}
  local customary=(5000 9696 9876 8774 8778 9311) index
  if [ -n "$base" ]; then
    is_between 1 65530 "$base" || fail "OPENSTACK_PORT_BASE=$base is no port"
    for index in 0 1 2 3 4 5; do customary[index]=$((base + index)); done
  fi
  PORT_IDENTITY=${OPENSTACK_PORT_IDENTITY:-${customary[0]}}
  PORT_NETWORK=${OPENSTACK_PORT_NETWORK:-${customary[1]}}
  PORT_LOAD_BALANCER=${OPENSTACK_PORT_LOAD_BALANCER:-${customary[2]}}
  PORT_COMPUTE=${OPENSTACK_PORT_COMPUTE:-${customary[3]}}
  PORT_PLACEMENT=${OPENSTACK_PORT_PLACEMENT:-${customary[4]}}
  PORT_KEY_MANAGER=${OPENSTACK_PORT_KEY_MANAGER:-${customary[5]}}
}

# true_if 0|1: the word that configuration files have for it.
true_if() { if [ "$1" = 1 ]; then echo true; else echo false; fi; }

is_between() { [[ $3 =~ ^[0-9]+$ ]] && [ "$3" -ge "$1" ] && [ "$3" -le "$2" ]; }

check_options() {
  local name
  suite_of "$RELEASE" >/dev/null
  case $PROVIDER in amphora | ovn) ;; *) fail "OPENSTACK_PROVIDER=$PROVIDER: it is amphora or ovn" ;; esac
  case $OPENVSWITCH in newer | packaged) ;; *) fail "OPENSTACK_OPENVSWITCH=$OPENVSWITCH: it is newer or packaged" ;; esac
  for name in DATAPLANE METADATA_PORT UNPATCHED ONLINE DEBUG; do
    case ${!name} in 0 | 1) ;; *) fail "OPENSTACK_$name=${!name}: it is 0 or 1" ;; esac
  done
  for name in PORT_IDENTITY PORT_NETWORK PORT_LOAD_BALANCER PORT_COMPUTE PORT_PLACEMENT PORT_KEY_MANAGER; do
    is_between 1 65535 "${!name}" || fail "OPENSTACK_$name=${!name} is no port"
  done
  is_between 1 86400 "$TOKEN_LIFETIME" || fail "OPENSTACK_TOKEN_LIFETIME=$TOKEN_LIFETIME: it is a number of seconds, up to 86400"
  is_between 0 30 "$SERVERS" || fail "OPENSTACK_SERVERS=$SERVERS: it is a number up to 30"
  [[ $WORKER_DELAY =~ ^[0-9]+(\.[0-9]+)?$ ]] || fail "OPENSTACK_WORKER_DELAY=$WORKER_DELAY: it is a number of seconds"
  [[ $PREFIX =~ ^[a-z][a-z0-9-]*$ ]] || fail "OPENSTACK_PREFIX=$PREFIX: it begins with a letter and has a-z, 0-9 and - only"
  [ "$DATAPLANE" = 0 ] || [ "$PROVIDER" = ovn ] || fail "OPENSTACK_DATAPLANE=1 needs OPENSTACK_PROVIDER=ovn: amphorae are not real here and forward nothing"
  is_oldest_release || [ "$OPENVSWITCH" = packaged ] || fail "OPENSTACK_OPENVSWITCH=newer is for OPENSTACK_RELEASE=2022.2: $RELEASE has a newer one"
  [ "$UNPATCHED" = 0 ] || is_oldest_release || fail "OPENSTACK_UNPATCHED=1 needs OPENSTACK_RELEASE=2022.2: $RELEASE does not have that bug"
  [ "$UNPATCHED" = 0 ] || [ "$PROVIDER" = amphora ] || fail "OPENSTACK_UNPATCHED=1 needs OPENSTACK_PROVIDER=amphora: what is patched is Octavia's work with amphorae"
}

# keep_options and kept_options: the options that status and down use. The provider and the release
# of a state never change; the release is stored at the start.
keep_options() {
  local name
  for name in PROVIDER DATAPLANE PREFIX PORT_IDENTITY PORT_NETWORK PORT_LOAD_BALANCER PORT_COMPUTE PORT_PLACEMENT PORT_KEY_MANAGER; do
    printf '%s=%q\n' "$name" "${!name}"
  done >"$STATE/options"
}

kept_options() {
  [ -s "$STATE/options" ] || return 1
  # shellcheck disable=SC1091  # written by keep_options
  . "$STATE/options"
  kept_release
}

refuse_other_cloud() {
  local kept
  kept=$(kept_release && echo "$RELEASE")
  [ "$kept" = "$RELEASE" ] || fail "the state in $STATE was made with release $kept: use another OPENSTACK_STATE, or remove it with openstack-down PURGE=1"
  [ -s "$STATE/options" ] || return 0
  kept=$(kept_options && echo "$PROVIDER")
  [ "$kept" = "$PROVIDER" ] || fail "the state in $STATE was made with provider $kept: use another OPENSTACK_STATE, or remove it with openstack-down PURGE=1"
}
