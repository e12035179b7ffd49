#!/bin/bash
# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
#
# `make test-openstack`: starts real clouds, runs their tests, and stops them. The clouds have other
# states, ports and namespaces than those of `make openstack-up`. These run in parallel: with noop
# amphorae the contract, which uses all CPU time that it can get, and then the end-to-end tests in
# two projects, in one of which Octavia is not patched; during both, the situations of doctor in a
# separate project; and with OVN the end-to-end tests with packets.
#
#   RELEASE=     2022.2 (the default), 2025.1 or newest, see README.md. Only 2022.2 has an unpatched
#                Octavia, and packets are not tested with the newest.
#   STAGES=      some of contract, doctor, unpatched, noop and packets; the default is all that the release has
#   ROUNDS=1     how often the controller is killed in the kill tests
#   FULL=1       with the tests that are skipped on a real cloud by default, an hour in total
#   STATES=DIR   the folder of the clouds' states (.cache/openstack); kept if a test fails
#
# On a machine that cannot run OpenStack it says so and succeeds, except with CI=true as root on
# Debian.

set -euo pipefail
HERE=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cd "$HERE/../.."
STATES=$(realpath -m "${STATES:-.cache/openstack}")
ROUNDS=${ROUNDS:-1}
ALL_STAGES="contract doctor unpatched noop packets"
STAGES=${STAGES:-$ALL_STAGES}
export OPENSTACK_RELEASE=${RELEASE:-2022.2}
PREFIX=test
[ "$OPENSTACK_RELEASE" = 2022.2 ] || PREFIX=test-$OPENSTACK_RELEASE
LOGS=$STATES/$PREFIX-logs
HOW_MUCH=(-test.short -test.timeout=30m)
if [ "${FULL:-0}" = 1 ]; then HOW_MUCH=(-test.timeout=2h); fi
# The tests with OVN: those about packets, those of the provider, and those that do not depend on
# the provider, because load balancers of OVN need the least CPU time.
PACKETS='CannotBeEnforced|GoOnUntilItEnds|Outside|Inside|PacketsStop|CannotBeAttachedLeaves|GivenFloatingIPAnswers|DeletedService|PodSees|Cordoned|WithoutAFailure|WhileTheControllerIsKilled|ProviderOVN|Pods|TargetType|WaitsForGates|MemberTakesTraffic|WithoutKubeProxy'
EITHER='ExhaustedQuota|RulesAreDeletedIf|SharerOfAnotherCluster|ServiceSurvives|CallsStay|MigrateShows|PlanShows|ServiceShowsIts|ReportsWhatMayBelong|ReportsWhatTheCloud|AnotherClientDeletedCan|RestartedController|EveryFailure|DoesNotStart|DeletedBeforeIts|FloatingIPIsAdopted|CredentialIsCreated|PodsAreMembersWithoutNodePorts|TargetTypeIsSwitched|MemberTakesTraffic|MembersOfARefusedService'
# What is run in the project for which Octavia is not patched: the tests of that, and what
# depends on it as little.
UNPATCHED='LeavesObjectsPending|LeftPending|OneByOne|TheOtherController|BecomesInternal'
# What takes minutes and is about requests that must not fail, which noop amphorae do not answer.
REQUESTS='ReplacedOneAfterTheOther|WaitsForGates'

main() {
  local why_not lane lanes=() failed=0 before
  before=$(processor)
  check_what_is_wanted
  # shellcheck disable=SC2046  # a list of words
  if ! why_not=$(env $(options "$(if wants packets; then echo ovn; else echo noop; fi)") "$HERE/up.sh" --check 2>&1); then
    echo "skipped: ${why_not#openstack: }"
    if [ "${CI:-}" = true ] && [ "$(id -u)" = 0 ] && grep -qs '^ID=debian' /etc/os-release; then
      echo "In CI, as root on Debian, this is a failure." >&2
      exit 1
    fi
    exit 0
  fi
  mkdir -p "$LOGS"
  build || exit 1
  if wants contract || wants doctor || wants unpatched || wants noop; then noop_lane & lanes+=($!); fi
  if wants packets; then ovn_lane & lanes+=($!); fi
  for lane in "${lanes[@]}"; do
    wait "$lane" || failed=1
  done
  if [ $failed != 0 ]; then
    tell "failed; logs are in $LOGS, states in $STATES"
    exit 1
  fi
  tell "ok, $SECONDS s$(stolen "$before")"
}

# processor: the time of all cores since the machine started, and how much of it was stolen by other
# guests of the host.
processor() { awk '$1 == "cpu" { for (i = 2; i <= 9; i++) all += $i; print all, $9 }' /proc/stat; }

# stolen BEFORE: reports the stolen time since BEFORE if it is large, because it explains why tests
# are slow.
stolen() {
  echo "$1 $(processor)" | awk '{ share = 100 * ($4 - $2) / ($3 - $1) }
    share >= 5 { printf ", while others on the host took %d %% of the processor", share }'
}

# build: the tests as programs, which Go relinks only if something has changed.
build() {
  local package
  for package in contract e2e doctor; do go test -c -o "$LOGS/$package.test" "./test/$package" || return 1; done
}

# check_what_is_wanted: a release or a stage that does not exist, and stages that the release does not have, would test nothing.
check_what_is_wanted() {
  local stage
  case $OPENSTACK_RELEASE in
    2022.2 | 2025.1 | newest) ;;
    *) refuse "RELEASE is none of 2022.2, 2025.1 and newest" ;;
  esac
  for stage in $STAGES; do
    [[ " $ALL_STAGES " == *" $stage "* ]] || refuse "STAGES=$STAGES: $stage is none of $ALL_STAGES"
  done
  for stage in $STAGES; do
    if wants "$stage"; then return; fi
  done
  refuse "STAGES=$STAGES: the release has none of these"
}

refuse() {
  tell "$*"
  exit 2
}

# wants STAGE: succeeds if the stage is selected and the release has it.
wants() {
  case $1-$OPENSTACK_RELEASE in
    unpatched-2025.1 | unpatched-newest | packets-newest) return 1 ;;
  esac
  [[ " $STAGES " == *" $1 "* ]]
}

# A failed stage does not prevent the others from running.
noop_lane() {
  local failed=0 beside=() stage skipped=$REQUESTS
  up noop || { down noop 1; return 1; }
  if wants doctor; then run doctor noop doctor "${HOW_MUCH[@]}" & beside+=($!); fi
  # Groups of cases mostly wait for the cloud, so more of them run than there are cores.
  if wants contract; then run contract noop contract -test.timeout=30m -test.parallel=6 || failed=1; fi
  if wants unpatched; then
    run e2e-unpatched noop/unpatched e2e "${HOW_MUCH[@]}" "-test.run=$UNPATCHED" & beside+=($!)
    skipped="$skipped|$UNPATCHED"
  fi
  # Tests that do not depend on the provider run with OVN, if that is selected.
  if wants packets; then skipped="$skipped|$EITHER"; fi
  if wants noop; then
    run e2e-noop noop e2e "${HOW_MUCH[@]}" "-test.skip=$skipped" "-kill-rounds=$ROUNDS" || failed=1
  fi
  for stage in "${beside[@]}"; do
    wait "$stage" || failed=1
  done
  down noop $failed
}

ovn_lane() {
  local failed=0
  up ovn && run e2e-ovn ovn e2e "${HOW_MUCH[@]}" "-test.run=$PACKETS|$EITHER" "-kill-rounds=$ROUNDS" || failed=1
  down ovn $failed
}

# options NAME: prints the environment of a cloud.
options() {
  echo "OPENSTACK_STATE=$STATES/$PREFIX-$1"
  local base namespaces
  # Clouds of several releases may run at the same time.
  case $OPENSTACK_RELEASE in
    2022.2) base=27000 namespaces=kot ;;
    2025.1) base=27020 namespaces=kot25 ;;
    newest) base=27040 namespaces=kotn ;;
  esac
  case $1 in
    noop)
      echo "OPENSTACK_PORT_BASE=$base"
      [ "$OPENSTACK_RELEASE" != 2022.2 ] || echo OPENSTACK_UNPATCHED=1
      ;;
    ovn) printf '%s\n' "OPENSTACK_PORT_BASE=$((base + 10))" OPENSTACK_PROVIDER=ovn OPENSTACK_DATAPLANE=1 "OPENSTACK_PREFIX=$namespaces" ;;
  esac
}

# up NAME: starts a new cloud.
up() {
  local began=$SECONDS
  # shellcheck disable=SC2046  # a list of words
  env $(options "$1") PURGE=1 "$HERE/down.sh" >>"$LOGS/down-$1.log" 2>&1
  # shellcheck disable=SC2046
  env $(options "$1") "$HERE/up.sh" >"$LOGS/up-$1.log" 2>&1 || { tell "$1: up failed: $(tail -n 5 "$LOGS/up-$1.log")"; return 1; }
  tell "$1: up in $((SECONDS - began)) s"
}

# down NAME FAILED: stops a cloud and reports its memory. After a failure its state and logs are
# kept, and down fails.
down() {
  local memory
  # shellcheck disable=SC2046
  memory=$(env $(options "$1") "$HERE/status.sh" | awk '$1 == "all" { print $2 }')
  # shellcheck disable=SC2046
  env $(options "$1") PURGE=$((1 - $2)) "$HERE/down.sh" >>"$LOGS/down-$1.log" 2>&1
  tell "$1: down, had $memory MiB"
  return "$2"
}

# run STAGE CLOUD[/TENANT] PACKAGE [FLAG...]: runs the tests of test/PACKAGE on the cloud.
run() {
  local stage=$1 cloud=$2 package=$3 began=$SECONDS status=0
  shift 3
  (cd "test/$package" && exec "$LOGS/$package.test" -test.v "$@" "-openstack=$STATES/$PREFIX-$cloud") >"$LOGS/$stage.log" 2>&1 || status=$?
  tell "$stage: $(verdict $status), $(counts "$LOGS/$stage.log"), $((SECONDS - began)) s"
  groups "$LOGS/$stage.log" "$stage"
  [ $status = 0 ] || { failures "$LOGS/$stage.log"; errors "$STATES/$PREFIX-${cloud%/*}/log"; } | cut -c -600 | sed "s/^/  $OPENSTACK_RELEASE $stage: /"
  return $status
}

verdict() { if [ "$1" = 0 ]; then echo ok; else echo FAILED; fi; }

counts() {
  awk '/^ *--- PASS/ { p++ } /^ *--- FAIL/ { f++ } /^ *--- SKIP/ { s++ }
    END { printf "%d passed, %d failed, %d skipped", p, f, s }' "$1"
}

# failures LOG: prints the failed tests, each with the end of its output.
failures() {
  awk '
    /^ *=== (RUN|NAME|CONT|PAUSE) / { now = $3; next }
    /^ *--- (PASS|SKIP): / { delete said[$3]; next }
    /^ *--- FAIL: / { print; printf "%s", said[$3]; next }
    /^(panic: |FAIL)/ { print; next }
    /^ +[a-z0-9_]+\.go:[0-9]+: / { tail = said[now]; if (split(tail, lines, "\n") > 6) sub(/^[^\n]*\n/, "", tail); said[now] = tail $0 "\n" }
  ' "$1" | head -n 60
}

# errors DIR: counts errors of a cloud's services that no request explains and that may have made a
# test fail.
errors() {
  grep -hoE '(Deadlock found|Lock wait timeout|QueuePool limit|Too many connections|Lost connection|gone away|MessagingTimeout|ReadTimeout|ConnectTimeout|Connection (refused|reset)|Segmentation).{0,120}' \
    "$1"/*.log "$1"/*.out 2>/dev/null | sort | uniq -c | sort -rn | head -n 15
}

# groups LOG STAGE: counts the cases of each group of the contract.
groups() {
  [ "$2" = contract ] || return 0
  awk '/^    --- / { split($3, name, "/"); n[name[1]]++ } END { for (g in n) printf "  %s %-28s %4d cases\n", release, substr(g, 5), n[g] }' "release=$OPENSTACK_RELEASE" "$1" | sort
}

tell() { printf 'test-openstack %s: [%4d s] %s\n' "$OPENSTACK_RELEASE" "$SECONDS" "$*"; }

main; exit # bash reads a script while it runs
