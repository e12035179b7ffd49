#!/bin/bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# enter.sh ROOT FOLDER... -- COMMAND...: carries the command out in the root. It is to be
# started in a mount namespace of its own, with the propagation of mounts unchanged; all
# that is mounted here goes with the last process in that namespace. The folders are in
# the root where they are on the machine. They may contain the root.

set -euo pipefail

root=$1
shift

# Only mounts below a shared one are seen elsewhere, so this one is private from here on.
mount --make-private "$(stat --format=%m "$root")"
# `ip netns exec` wants / to be a mount.
mount --bind "$root" "$root"

bind() {
  if [ -d "$1" ]; then mkdir -p "$root$1"; else touch "$root$1"; fi
  mount "${2:---bind}" "$1" "$root$1"
}

while [ "$1" != -- ]; do
  bind "$1"
  shift
done
shift
for kernel in /proc /sys /dev; do
  bind "$kernel" --rbind
  mount --make-rslave "$root$kernel"
done
for file in /etc/resolv.conf /etc/hosts; do
  if [ -f "$file" ]; then mount --bind "$file" "$root$file"; fi
done
# It stays shared: network namespaces are made in the root for all to see.
if mountpoint -q /run/netns; then bind /run/netns --rbind; fi

# shellcheck disable=SC2016  # the shell in the root expands it
exec chroot "$root" /bin/sh -c 'cd "$0" 2>/dev/null || cd /; exec "$@"' "$PWD" "$@"
