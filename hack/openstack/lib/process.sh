# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Processes. A pid file has the pid, the start time and the boot id of a process, so that a later
# process with the same pid is never mistaken for ours and never stopped. The command and
# configuration are stored beside it: a process is restarted if they have changed.

# process_start PID: the start time, in ticks since boot. It fails if the process has ended, or is a
# zombie whose threads have all ended (threads that still run hold its sockets). The name in
# parentheses may contain spaces, so it is cut off.
process_start() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # shellcheck disable=SC2086  # the fields are to be split
  set -- ${stat##*) }
  case $1 in Z | X) [ "${18}" -gt 1 ] || return 1 ;; esac
  echo "${20}"
}

# process_pid NAME: the pid of our process, if it runs.
process_pid() {
  local pid start boot
  read -r pid start boot 2>/dev/null <"$STATE/run/$1.pid" || return 1
  [ "$boot" = "$(</proc/sys/kernel/random/boot_id)" ] || return 1
  [ "$(process_start "$pid")" = "$start" ] && echo "$pid"
}

is_running() { process_pid "$1" >/dev/null; }

# start NAME PORT CONFIGURATION COMMAND...: in the background, as the leader of a new session. PORT
# and CONFIGURATION, a folder, may be -.
start() {
  local name=$1 port=$2 configuration=$3 wanted
  shift 3
  wanted=$(fingerprint "$configuration" "$@")
  if is_running "$name"; then
    [ "$(cat "$STATE/run/$name.fingerprint" 2>/dev/null)" != "$wanted" ] || return 0
    say "$name was started with other options: restarting it"
    stop "$name"
  fi
  [ "$port" = - ] || require_free_port "$name" "$port"
  setsid "$@" >>"$STATE/log/$name.out" 2>&1 </dev/null 9>&- &
  echo "$! $(process_start $!) $(</proc/sys/kernel/random/boot_id)" >"$STATE/run/$name.pid"
  echo "$wanted" >"$STATE/run/$name.fingerprint"
}

# fingerprint CONFIGURATION COMMAND...: identifies the command and configuration of a process. The
# shims are part of the configuration of every process that has one.
fingerprint() {
  local configuration=$1
  shift
  {
    printf '%s\n' "$@"
    [ "$configuration" = - ] || find "$configuration" "$HERE/shims" -type f ! -name '*.pyc' -print0 | LC_ALL=C sort -z | xargs -0 cat
  } | sha256sum | cut -d' ' -f1
}

# require_free_port: Neutron would silently share a port with another process, which would answer
# every second request.
require_free_port() {
  if (exec 3<>"/dev/tcp/$HOST/$2") 2>/dev/null; then
    fail "port $2, which $1 is to have, is taken by a process that is not of this cloud: choose other ports with OPENSTACK_PORT_BASE"
  fi
}

# stop NAME [SECONDS]: terminate it, wait, then kill its session.
stop() {
  local name=$1 patience=${2:-6} pid
  if pid=$(process_pid "$name"); then
    kill -TERM "$pid" 2>/dev/null || true
    ended "$name" "$patience" || true
    kill -KILL -- "-$pid" 2>/dev/null || true
    ended "$name" 10 || fail "$name, process $pid, does not end"
  fi
  rm -f "$STATE/run/$name.pid" "$STATE/run/$name.fingerprint"
}

# ended NAME SECONDS: succeeds if the process ends within that time.
ended() {
  local turn
  for ((turn = 0; turn < $2 * 20; turn++)); do
    is_running "$1" || return 0
    sleep 0.05
  done
  return 1
}

# within SECONDS COMMAND...: repeats the command until it succeeds.
within() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    [ $SECONDS -lt "$end" ] || return 1
    sleep 0.1
  done
}

# wait_for NAME SECONDS: until the process answers.
wait_for() {
  local name=$1 end=$((SECONDS + $2))
  until answers "$name"; do
    is_running "$name" || give_up "$name ended instead of answering"
    [ $SECONDS -lt "$end" ] || give_up "$name does not answer after $2 s"
    sleep 0.1
  done
}

# give_up MESSAGE: with the last lines of the process's logs.
give_up() {
  local name=${1%% *} log
  for log in "$STATE/log/$name.out" "$STATE/log/$name.log"; do
    [ -s "$log" ] && { echo "--- $log" && tail -n 20 "$log"; } >&2
  done
  fail "$1; its logs are in $STATE/log"
}

# answers NAME: runs the test of the process, answers_NAME.
answers() { "answers_${1//-/_}" >/dev/null 2>&1; }

# answers_http PORT: any HTTP answer is sufficient.
answers_http() { [ "$(curl -s -o /dev/null -m 5 -w '%{http_code}' "http://$HOST:$1/")" != 000 ]; }
