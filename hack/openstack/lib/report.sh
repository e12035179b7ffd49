# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The progress of openstack-up: each phase with its duration.

milliseconds() { local now=${EPOCHREALTIME/[.,]/}; echo $((now / 1000)); }

STARTED=$(milliseconds)
PHASE_STARTED=$STARTED

phase() {
  local now
  now=$(milliseconds)
  printf 'openstack: %-34s %s\n' "$1" "$(seconds $((now - PHASE_STARTED)))"
  PHASE_STARTED=$now
}

seconds() { printf '%4d.%d s' $(($1 / 1000)) $(($1 % 1000 / 100)); }

total() { phase_total=$(seconds $(($(milliseconds) - STARTED))) && printf 'openstack: %-34s %s\n' "all" "$phase_total"; }

say() { printf 'openstack: %s\n' "$*"; }
