# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Releases of OpenStack, and the location of their packages: the machine itself if it runs the
# Debian that contains the release, otherwise a separate root.

RELEASES="2022.2 2025.1 newest"

# suite_of RELEASE: the Debian suite that contains it.
suite_of() {
  case $1 in
    2022.2) echo bookworm ;;
    2025.1) echo trixie ;;
    newest) echo sid ;;
    *) fail "OPENSTACK_RELEASE=$1: it must be one of $RELEASES" ;;
  esac
}

is_oldest_release() { [ "$RELEASE" = 2022.2 ]; }

# default_folder: the default name of the state. 2022.2 has no suffix.
default_folder() {
  local release=${OPENSTACK_RELEASE:-2022.2} provider=${OPENSTACK_PROVIDER:-amphora}
  case $release in 2022.2) echo "$provider" ;; *) echo "$provider-$release" ;; esac
}

# keep_release and kept_release: the release of the state, and the cache with its root. A state
# without this file is older than the support of other releases.
keep_release() { printf '%s=%q\n' RELEASE "$RELEASE" CACHE "$CACHE" >"$STATE/release"; }

kept_release() {
  RELEASE=${OPENSTACK_RELEASE:-2022.2}
  # shellcheck disable=SC1091  # written by keep_release
  if [ -s "$STATE/release" ]; then . "$STATE/release"; elif [ -e "$STATE/options" ]; then RELEASE=2022.2; fi
}

# kept_cache: the current or future location of the root of this state.
kept_cache() (
  CACHE=''
  # shellcheck disable=SC1091  # written by keep_release
  [ ! -s "$STATE/release" ] || . "$STATE/release"
  echo "${CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/kube-octavia/openstack}"
)

# needs_root: succeeds if the packages are in a root. A root contains the name of its release, so
# inside it needs_root fails.
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
