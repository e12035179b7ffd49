#!/bin/bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# enter.sh ROOT FOLDER... -- COMMAND...: runs the command in the root. It must be started in a
# separate mount namespace, with unchanged mount propagation; all mounts disappear with the last
# process in that namespace. The folders have the same paths in the root as on the machine. They may
# contain the root.

set -euo pipefail

root=$1
shift

# Mounts below a shared mount are visible elsewhere, so this one becomes private.
mount --make-private "$(stat --format=%m "$root")"
# `ip netns exec` requires / to be a mount point.
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
# It stays shared, so that network namespaces that are created in the root are visible on the
# machine.
if mountpoint -q /run/netns; then bind /run/netns --rbind; fi

# shellcheck disable=SC2016  # the shell in the root expands it
exec chroot "$root" /bin/sh -c 'cd "$0" 2>/dev/null || cd /; exec "$@"' "$PWD" "$@"
