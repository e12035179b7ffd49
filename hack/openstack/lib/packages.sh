# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Debian packages. Only libraries and programs are installed, not the packages that set up and start
# services, and the installation starts nothing.

# required_packages: the packages that a cloud with these options needs.
required_packages() {
  common_packages
  quick_packages
  [ "$PROVIDER" = ovn ] || amphora_packages
  [ "$PROVIDER" != ovn ] || ovn_packages
  [ "$DATAPLANE" = 0 ] || dataplane_packages
}

common_packages() {
  echo curl openssl iproute2
  echo mariadb-server python3-mysqldb python3-pymysql python3-waitress
  echo python3-keystone python3-neutron python3-octavia python3-nova python3-placement python3-barbican
  echo python3-openstackclient python3-octaviaclient python3-barbicanclient
}

# The C extensions of SQLAlchemy, in which Octavia and Neutron spend most of their time.
quick_packages() { echo python3-sqlalchemy-ext; }

# For a test with packets, see test/e2e/amphora_test.go.
amphora_packages() { echo haproxy nginx; }

ovn_packages() { echo ovn-central python3-ovn-octavia-provider; }

dataplane_packages() { echo openvswitch-switch ovn-host ethtool iputils-ping; }

# install_packages PACKAGE..., one cloud at a time: a cloud that finishes first must not remove the
# script that prevents services from starting.
install_packages() {
  mkdir -p "$CACHE"
  exec 6>"$CACHE/packages.lock"
  flock 6
  install_missing "$@"
  exec 6>&-
}

install_missing() {
  local missing
  missing=$(comm -23 <(printf '%s\n' "$@" | sort -u) \
    <(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | awk '$1 == "installed" { print $2 }' | sort -u))
  [ -n "$missing" ] || return 0
  # shellcheck disable=SC2086
  say "installing" $missing
  forbid_starting_services
  end_what_was_interrupted
  # shellcheck disable=SC2086
  apt_install $missing || { apt-get -q update && apt_install $missing; } >>"$STATE/log/apt.log" 2>&1 ||
    { tail -n 20 "$STATE/log/apt.log" >&2; fail "packages could not be installed: see $STATE/log/apt.log"; }
  allow_starting_services
}

apt_install() {
  DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
    -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-unsafe-io -o Dpkg::Use-Pty=0 install "$@" >>"$STATE/log/apt.log" 2>&1
}

# end_what_was_interrupted: apt-get refuses to work after an installation or a removal was killed.
# If this fails, apt-get says what to do.
end_what_was_interrupted() {
  DEBIAN_FRONTEND=noninteractive dpkg --force-unsafe-io --configure -a >>"$STATE/log/apt.log" 2>&1 || true
}

# A script with this name tells dpkg whether it may start services. An existing one is kept.
SERVICE_POLICY=/usr/sbin/policy-rc.d

forbid_starting_services() {
  [ ! -e $SERVICE_POLICY ] || return 0
  trap allow_starting_services EXIT
  printf '#!/bin/sh\n# Made by openstack-up of kube-octavia, for the time of an installation.\nexit 101\n' >$SERVICE_POLICY
  chmod 755 $SERVICE_POLICY
}

allow_starting_services() {
  if grep -qs 'openstack-up of kube-octavia' $SERVICE_POLICY; then rm -f $SERVICE_POLICY; fi
}
