# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Releases of OpenStack, and where the packages of each are: on the machine itself
# if it is the Debian that the release is part of, in a root of their own otherwise.

RELEASES="2022.2 2025.1 newest"

# suite_of RELEASE: the Debian that has it.
suite_of() {
  case $1 in
    2022.2) echo bookworm ;;
    2025.1) echo trixie ;;
    newest) echo sid ;;
    *) fail "OPENSTACK_RELEASE=$1: it is one of $RELEASES" ;;
  esac
}

is_oldest_release() { [ "$RELEASE" = 2022.2 ]; }

# default_folder: the state's name, unless it is told. 2022.2 has no suffix.
default_folder() {
  local release=${OPENSTACK_RELEASE:-2022.2} provider=${OPENSTACK_PROVIDER:-amphora}
  case $release in 2022.2) echo "$provider" ;; *) echo "$provider-$release" ;; esac
}

# keep_release and kept_release: with which release the state was made, and in which cache
# its root is. A state that does not tell is older than other releases are.
keep_release() { printf '%s=%q\n' RELEASE "$RELEASE" CACHE "$CACHE" >"$STATE/release"; }

kept_release() {
  RELEASE=${OPENSTACK_RELEASE:-2022.2}
  # shellcheck disable=SC1091  # written by keep_release
  if [ -s "$STATE/release" ]; then . "$STATE/release"; elif [ -e "$STATE/options" ]; then RELEASE=2022.2; fi
}

# kept_cache: where the root of this state is, or is to be.
kept_cache() (
  CACHE=''
  # shellcheck disable=SC1091  # written by keep_release
  [ ! -s "$STATE/release" ] || . "$STATE/release"
  echo "${CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kube-octavia/openstack}"
)

# needs_root: whether the packages are in a root. A root knows of which release it is,
# so that in it the answer is no.
needs_root() {
  [ "$(cat /etc/openstack-release 2>/dev/null)" != "$RELEASE" ] || return 1
  ! { is_oldest_release && machine_is debian 12; }
}

is_in_root() { [ "$(cat /etc/openstack-release 2>/dev/null)" = "$RELEASE" ]; }

# machine_is ID [VERSION]
machine_is() {
  # shellcheck disable=SC1091
  (. /etc/os-release 2>/dev/null && [ "${ID:-}" = "$1" ] && [ "${VERSION_ID:-}" = "${2:-${VERSION_ID:-}}" ])
}
