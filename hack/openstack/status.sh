#!/bin/bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# Shows for each process of the cloud whether it runs and answers. The exit status is 0 only if all
# do.

set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/all.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/lib/all.sh"

main() {
  local name healthy=0 sum=0
  locate_state
  kept_options || fail "there is no cloud in $STATE"
  if needs_root; then enter_root "$HERE/status.sh"; fi
  isolate
  [ "$PROVIDER" != ovn ] || ovn_environment
  printf '%-22s %8s %6s %10s  %s\n' process pid port 'PSS in MiB' state
  # shellcheck disable=SC2046  # a list of words
  for name in $(processes); do
    tell_process "$name" || healthy=1
  done
  printf '%-22s %8s %6s %10s\n' all '' '' "$((sum / 1024))"
  say "$STATE, release $RELEASE, provider $PROVIDER, data plane $([ "$DATAPLANE" = 1 ] && echo on || echo off)"
  return $healthy
}

# tell_process NAME: fails if the process does not run or answer; adds its memory to sum.
tell_process() {
  local pid condition=answers memory=0
  if ! pid=$(process_pid "$1"); then
    printf '%-22s %8s %6s %10s  %s\n' "$1" - "$(port_of "$1")" - 'does not run'
    return 1
  fi
  memory=$(memory_of "$pid")
  sum=$((sum + memory))
  answers "$1" || condition='does not answer'
  printf '%-22s %8s %6s %10s  %s\n' "$1" "$pid" "$(port_of "$1")" "$((memory / 1024))" "$condition"
  [ "$condition" = answers ]
}

# memory_of PID: the proportional share of memory of the process and its descendants, in KiB.
memory_of() {
  local kib child
  kib=$(awk '/^Pss:/ { print $2 }' "/proc/$1/smaps_rollup" 2>/dev/null) || true
  kib=${kib:-0}
  for child in $(children_of "$1"); do kib=$((kib + $(memory_of "$child"))); done
  echo "$kib"
}

children_of() { cat "/proc/$1"/task/*/children 2>/dev/null || true; }

main
