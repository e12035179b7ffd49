#!/bin/bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# fill-root.sh, which runs in a new root, installs everything that any kind of cloud needs.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=packages.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/packages.sh"

export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C DEBIAN_FRONTEND=noninteractive HOME=/root TMPDIR=/tmp

main() {
  local wanted package
  apt-get -q update
  # shellcheck disable=SC2207  # lists of words
  wanted=($(common_packages) $(ovn_packages) $(dataplane_packages) procps)
  # A cloud can start without these, and Debian unstable does not always have all of them.
  for package in $(quick_packages) $(amphora_packages); do
    if is_installable "$package"; then wanted+=("$package"); else echo "Debian has no package $package now"; fi
  done
  dpkg --configure -a
  # An interrupted installation may be continued on another day.
  apt-get -q -y -o Dpkg::Use-Pty=0 dist-upgrade
  apt-get -q -y --no-install-recommends -o Dpkg::Use-Pty=0 install "${wanted[@]}"
  apt-get clean
  rm -rf /var/lib/apt/lists/*
}

is_installable() { [ -n "$(apt-cache --quiet=0 madison "$1" 2>/dev/null)" ]; }

main; exit # bash reads a script while it runs
