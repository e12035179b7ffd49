# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# MariaDB: a separate server, only on a unix socket, which trades durability for speed. It uses
# READ-COMMITTED: with InnoDB's default, two concurrent requests that write tags of different load
# balancers lock the gap between them and deadlock.

mariadb_socket() { echo "$STATE/run/mysql.sock"; }

mariadb_start() {
  if [ ! -e "$STATE/mysql/.made" ]; then
    rm -rf "$STATE/mysql" "$STATE"/run/made.*
    mariadb-install-db --no-defaults --user=root --datadir="$STATE/mysql" --skip-test-db \
      --auth-root-authentication-method=normal >"$STATE/log/mariadb-install.out" 2>&1 ||
      { tail -n 20 "$STATE/log/mariadb-install.out" >&2; fail "mariadb-install-db failed"; }
    touch "$STATE/mysql/.made"
  fi
  start mariadb - - mariadbd --no-defaults --user=root --datadir="$STATE/mysql" --tmpdir="$STATE/tmp" \
    --socket="$(mariadb_socket)" --pid-file="$STATE/run/mariadbd.own-pid" --log-error="$STATE/log/mariadb.log" \
    --skip-networking --skip-grant-tables --skip-log-bin --skip-name-resolve --performance-schema=OFF --max-connections=400 \
    --innodb-buffer-pool-size=96M --innodb-log-file-size=32M --innodb-flush-log-at-trx-commit=0 \
    --transaction-isolation=READ-COMMITTED --innodb-doublewrite=0 --innodb-flush-method=nosync \
    --character-set-server=utf8mb3 --collation-server=utf8mb3_general_ci
}

answers_mariadb() { mariadb-admin --no-defaults --socket="$(mariadb_socket)" ping; }

# sql STATEMENTS
sql() { mariadb --no-defaults --socket="$(mariadb_socket)" --user=root --skip-column-names --batch --execute "$1"; }

# database_url DATABASE [USER]: the C driver for services with threads, the Python driver for those
# with eventlet, which cannot switch inside the C driver. Every user has all rights; the name only
# shows which service it was.
database_url() {
  local driver=pymysql
  case $1 in
    keystone | octavia | placement | barbican) driver=mysqldb ;;
    neutron) neutron_in_eventlet || driver=mysqldb ;;
  esac
  echo "mysql+$driver://${2:-root}@localhost/$1?unix_socket=$(mariadb_socket)&charset=utf8"
}
