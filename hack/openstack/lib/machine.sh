# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The requirements on the machine, which are checked first.

check_machine() {
  local missing=() name
  [ "$(id -u)" = 0 ] || missing+=("root (you are $(id -un))")
  is_debian || missing+=("Debian 12 or 13 (this is $(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME:-unknown}"))")
  for name in apt-get dpkg-query flock setsid $(if needs_root; then echo chroot mount mountpoint unshare; fi); do
    command -v "$name" >/dev/null || missing+=("the command $name")
  done
  if [ "$DATAPLANE" = 1 ] && [ "$(id -u)" = 0 ] && ! unshare --net true 2>/dev/null; then
    missing+=("the right to make network namespaces (OPENSTACK_DATAPLANE=1)")
  fi
  if needs_root && [ "$(id -u)" = 0 ] && ! unshare --mount true 2>/dev/null; then
    missing+=("the right to make mount namespaces (release $RELEASE)")
  fi
  [ ${#missing[@]} = 0 ] && return
  printf 'openstack: a real OpenStack from Debian packages cannot run here; nothing was done. Missing:\n' >&2
  printf '  - %s\n' "${missing[@]}" >&2
  exit 1
}

is_debian() { is_in_root || machine_is debian 12 || machine_is debian 13; }

# lock_state: only one up or down at a time for one cloud. A script that continues in a root
# inherits the lock.
lock_state() {
  ! is_in_root || return 0
  exec 9>"$STATE/run/lock"
  flock -n 9 || fail "another openstack-up or openstack-down is at work on $STATE"
}

# isolate: services use their own folders, and none of the caller's settings.
isolate() {
  export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
  export HOME=$STATE/home TMPDIR=$STATE/tmp XDG_CACHE_HOME=$STATE/home/cache
  export PYTHONPATH=$HERE/shims PYTHONDONTWRITEBYTECODE=1
  unset PYTHONHOME http_proxy https_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY REQUESTS_CA_BUNDLE
}

make_folders() {
  [ -d "$STATE" ] && [ -n "$(ls -A "$STATE")" ] && [ ! -e "$STATE/.openstack" ] && [ ! -e "$STATE/options" ] &&
    fail "$STATE is there, has something in it, and is not the state of a cloud: choose another OPENSTACK_STATE"
  mkdir -p "$STATE"/{run,log,tmp,out,home/cache}
  mkdir -p "$STATE"/etc/{keystone,neutron,octavia,nova,placement,barbican}
  chmod 755 "$STATE"
  touch "$STATE/.openstack"
  keep_release
}

# make_secrets: random, but constant during the life of the state.
make_secrets() {
  local name
  if [ ! -s "$STATE/etc/secrets" ]; then
    (
      umask 077
      for name in ADMIN_PASSWORD SERVICE_PASSWORD K8S_PASSWORD OTHER_PASSWORD; do
        echo "$name=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')"
      done
      echo "BARBICAN_KEY=$(head -c 32 /dev/urandom | base64)"
    ) >"$STATE/etc/secrets.new"
    mv "$STATE/etc/secrets.new" "$STATE/etc/secrets"
  fi
  # shellcheck disable=SC1091
  . "$STATE/etc/secrets"
}
