# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The tables of each service, created by the service's own migrations, which take 15 s together. The
# result is stored in the cache, named after the versions of the packages, and loaded the next time
# in less than a second. If several clouds start at the same time, one of them creates the tables,
# and the others load the result.

DATABASES="keystone neutron octavia barbican placement nova_api nova nova_cell0"

make_schemas() {
  local database light=() heavy=()
  for database in $DATABASES; do
    [ ! -e "$STATE/run/made.$database" ] || continue
    case $database in neutron | octavia | barbican | placement) light+=("$database") ;; *) heavy+=("$database") ;; esac
  done
  [ $((${#light[@]} + ${#heavy[@]})) -gt 0 ] || return 0
  package_versions=$(dpkg-query -W -f '${Package}=${Version} ' python3-keystone python3-neutron python3-octavia \
    python3-barbican python3-nova python3-placement mariadb-server | sha256sum | cut -c1-12)
  mkdir -p "$CACHE/schemas"
  # Two at a time: nova_cell0 needs nova, which is in the same group.
  make_each_schema "${light[@]}" &
  make_each_schema "${heavy[@]}"
  wait $! || exit 1
}

make_each_schema() {
  local database
  for database in "$@"; do
    make_schema "$database" >>"$STATE/log/schema-$database.out" 2>&1 || {
      tail -n 15 "$STATE/log/schema-$database.out" >&2
      fail "the tables of $database could not be made: see $STATE/log/schema-$database.out"
    }
  done
}

# make_schema runs in a context in which the shell does not exit on errors.
make_schema() {
  local database=$1 cached=$CACHE/schemas/$1-$package_versions.sql.gz
  exec 7>"$CACHE/schemas/$database.lock"
  flock 7
  sql "DROP DATABASE IF EXISTS $database; CREATE DATABASE $database CHARACTER SET utf8mb3" || return 1
  if [ -s "$cached" ]; then
    zcat "$cached" | mariadb --no-defaults --socket="$(mariadb_socket)" --user=root "$database" || return 1
  else
    "${database}_schema" || return 1
    dump_schema "$database" | gzip -1 >"$cached.$$" && mv "$cached.$$" "$cached" || return 1
  fi
  exec 7>&-
  touch "$STATE/run/made.$database"
}

dump_schema() { mariadb-dump --no-defaults --socket="$(mariadb_socket)" --user=root --routines --triggers "$1"; }
