# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The root of a release: a minimal Debian in the cache, with the packages of OpenStack.
# debootstrap creates it once, from the mirror of the machine, with everything that any cloud of the
# release needs: packages that are installed later might not match the older ones, because Debian
# unstable changes.
#
# Programs in it share the machine's processes and network, but have a separate mount namespace, so
# nothing is ever mounted on the machine: see enter.sh.

DEBIAN_KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg

root_folder() { echo "$CACHE/root-$RELEASE"; }

# enter_root COMMAND...: continues with the command in the root, with the environment and
# the open files of this one.
enter_root() {
  has_root || fail "the root $(root_folder) is gone: openstack-up makes it again"
  export OPENSTACK_RELEASE=$RELEASE OPENSTACK_CACHE=$CACHE OPENSTACK_STATE=$STATE
  exec unshare --mount --propagation unchanged "$HERE/lib/enter.sh" "$(root_folder)" "$ROOT" "$CACHE" "$STATE" -- "$@"
}

has_root() { [ -e "$(root_folder)/etc/openstack-release" ]; }

# make_root: creates the root, unless it exists. If several clouds start at the same time, one of
# them creates it.
make_root() {
  mkdir -p "$CACHE"
  exec 8>"$CACHE/root-$RELEASE.lock"
  flock 8
  has_root || make_missing_root
  exec 8>&-
}

# make_missing_root creates it in a temporary folder, so that an incomplete root is never used. If
# debootstrap had finished, it continues from there.
make_missing_root() {
  local root work log=$STATE/log/root.log suite mirror
  root=$(root_folder) work=$root.new suite=$(suite_of "$RELEASE")
  prepare_machine
  mirror=$(debian_mirror)
  use_proxy
  say "creating the root of $RELEASE in $root, from Debian's $suite; this takes minutes"
  rm -rf --one-file-system "$root"
  if [ ! -e "$work/etc/debootstrap-complete" ]; then
    rm -rf --one-file-system "$work"
    in_own_mounts debootstrap --variant=minbase --include=ca-certificates --keyring="$DEBIAN_KEYRING" "$suite" "$work" "$mirror" >"$log" 2>&1 ||
      { tail -n 5 "$log" >&2; fail "debootstrap could not make a Debian $suite: see $log and $work/debootstrap/debootstrap.log"; }
    touch "$work/etc/debootstrap-complete"
    phase "root, Debian $suite"
  fi
  configure_root "$work" "$suite" "$mirror"
  install_into "$work" "$log"
  echo "$RELEASE" >"$work/etc/openstack-release"
  mv "$work" "$root"
  phase "root, packages"
}

in_own_mounts() { unshare --mount --propagation private "$@"; }

# prepare_machine: installs what creates a root, and ip, with which tests inspect its namespaces.
prepare_machine() {
  install_packages debootstrap debian-archive-keyring gpgv wget iproute2
}

# debian_mirror: the mirror from which the machine's own apt downloads Debian.
debian_mirror() {
  local mirror
  mirror=$(machine_mirror)
  if [ -z "$mirror" ]; then
    # A machine may never have read the lists, which contain the origin of a source.
    apt-get -q update >>"$STATE/log/apt.log" 2>&1 || true
    mirror=$(machine_mirror)
  fi
  case $mirror in
    http://* | https://*) echo "$mirror" ;;
    *) fail "to create a root, apt of this machine needs a source of Debian with http or https, but it has ${mirror:-none}" ;;
  esac
}

# machine_mirror: third-party sources of apt may also be called main. Cloud images name their
# mirrors in a file that lists mirrors.
machine_mirror() {
  local mirror file
  # shellcheck disable=SC2016  # apt-get fills these in
  mirror=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)' 'Created-By: Packages' |
    awk -F'|' '$1 == "Debian" && $2 == "Debian" && $3 == "main" { print $4; exit }')
  case $mirror in
    mirror+file:*)
      file=/${mirror#mirror+file:}
      while [[ $file == //* ]]; do file=${file#/}; done
      mirror=$(awk '/^[a-z]/ { print $1; exit }' "${file%/}")
      ;;
  esac
  echo "$mirror"
}

# use_proxy: debootstrap does not use apt's settings.
use_proxy() {
  local proxy=''
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  if [ -n "${http_proxy:-$proxy}" ]; then export http_proxy=${http_proxy:-$proxy}; fi
}

# configure_root ROOT SUITE MIRROR: the installation starts nothing, installs no documentation,
# compiles no unneeded files, and does not sync to disk: a power failure costs only the root.
configure_root() {
  local root=$1 suite=$2 mirror=$3
  printf '#!/bin/sh\nexit 101\n' >"$root$SERVICE_POLICY"
  chmod 755 "$root$SERVICE_POLICY"
  printf '%s\n' force-unsafe-io 'path-exclude /usr/share/doc/*' 'path-exclude /usr/share/man/*' 'path-exclude /usr/share/locale/*' \
    >"$root/etc/dpkg/dpkg.cfg.d/openstack"
  # Snapshots of Debian unstable expire after days. Signatures are checked nevertheless.
  printf '%s\n' 'Acquire::Languages "none";' 'Acquire::Retries "3";' "Acquire::Check-Valid-Until \"$([ "$suite" = sid ] && echo false || echo true)\";" \
    >"$root/etc/apt/apt.conf.d/50openstack"
  [ -z "${http_proxy:-}" ] || printf 'Acquire::http::Proxy "%s";\n' "$http_proxy" >>"$root/etc/apt/apt.conf.d/50openstack"
  rm -f "$root/etc/apt/sources.list.d"/*
  echo "deb [signed-by=$DEBIAN_KEYRING] $mirror $suite main" >"$root/etc/apt/sources.list"
  rm -f "$root/etc/resolv.conf" "$root/etc/hosts"
  touch "$root/etc/resolv.conf" "$root/etc/hosts"
}

# install_into ROOT LOG. Debian unstable changes while its packages are downloaded, so the lists are
# updated and the installation is repeated if a package has disappeared.
install_into() {
  local root=$1 log=$2 turn
  for turn in 1 2 3; do
    if unshare --mount --propagation unchanged "$HERE/lib/enter.sh" "$root" "$ROOT" -- "$HERE/lib/fill-root.sh" >>"$log" 2>&1; then return 0; fi
    say "the packages of $RELEASE could not be installed, attempt $turn of 3"
  done
  tail -n 20 "$log" >&2
  fail "the packages of $RELEASE could not be installed: see $log"
}

# prepare_namespaces: network namespaces that are created in the root are visible on the machine
# because this mount is shared; `ip netns add` would do the same for its own mount.
prepare_namespaces() {
  mkdir -p /run/netns
  mountpoint -q /run/netns || mount --bind /run/netns /run/netns
  mount --make-shared /run/netns
}
