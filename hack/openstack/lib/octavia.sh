# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # templates use what is set here
#
# Octavia: API and worker in one process, which communicate over the in-memory transport; with OVN
# also the driver agent, which receives the provider's statuses.

octavia_configure() {
  SERVICE_TYPE=load-balancer DATABASE_URL=$(database_url octavia)
  OTHER_PROVIDERS='' PROVIDER_AGENTS=''
  if [ "$PROVIDER" = ovn ]; then
    OTHER_PROVIDERS=', ovn: The Octavia OVN driver.' PROVIDER_AGENTS=ovn
  fi
  account octavia
  render octavia.conf database.conf authtoken.conf >"$STATE/etc/octavia/octavia.conf"
  DATABASE_URL=$(database_url octavia "$AGENT_USER")
  render database.conf >"$STATE/etc/octavia/driver-agent.conf"
  empty_policy octavia
  make_amphora_certificate
}

# make_amphora_certificate: the certificate that every amphora would get.
make_amphora_certificate() {
  [ ! -s "$STATE/etc/octavia/amphora.crt" ] || return 0
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=amphora \
    -keyout "$STATE/etc/octavia/amphora.key" -out "$STATE/etc/octavia/amphora.crt" 2>/dev/null
}

octavia_schema() { octavia-db-manage --config-file "$STATE/etc/octavia/octavia.conf" upgrade head; }

# The driver agent writes the statuses of provider ovn, which take precedence over the trigger
# below, so it has its own user.
AGENT_USER=driver_agent

# octavia_statuses: amphorae report with heartbeats that they serve, but here they do not exist. A
# trigger sets what a heartbeat would set.
octavia_statuses() {
  local table
  for table in load_balancer listener pool member; do
    if [ "$ONLINE" = 1 ]; then
      echo "CREATE OR REPLACE TRIGGER octavia.online_$table BEFORE UPDATE ON octavia.$table FOR EACH ROW
        SET NEW.operating_status = IF(NEW.provisioning_status = 'ACTIVE' AND NEW.operating_status = 'OFFLINE' AND NEW.enabled
          AND USER() NOT LIKE '$AGENT_USER@%', 'ONLINE', NEW.operating_status);"
    else
      echo "DROP TRIGGER IF EXISTS octavia.online_$table;"
    fi
  done >"$STATE/tmp/statuses.sql"
  sql "$(<"$STATE/tmp/statuses.sql")"
}

octavia_start() {
  mkdir -p "$STATE/run/hold" "$STATE/run/unpatched"
  start_wsgi octavia "$PORT_LOAD_BALANCER" "$STATE/etc/octavia" 16 octavia_application \
    OCTAVIA_CONFIG="$STATE/etc/octavia/octavia.conf" OCTAVIA_SOCKETS="$STATE/run" \
    OCTAVIA_WORKER_DELAY="$WORKER_DELAY" OCTAVIA_HOLD="$STATE/run/hold" OCTAVIA_UNPATCHED="$STATE/run/unpatched"
  [ "$PROVIDER" = ovn ] || return 0
  start octavia-driver-agent - "$STATE/etc/octavia" env OCTAVIA_SOCKETS="$STATE/run" \
    "$PYTHON" -m openstack_shims.octavia_driver_agent \
    --config-file "$STATE/etc/octavia/octavia.conf" --config-file "$STATE/etc/octavia/driver-agent.conf" --log-file "$STATE/log/octavia-driver-agent.log"
}

answers_octavia() { answers_http "$PORT_LOAD_BALANCER"; }

# If a client connects and disconnects, the agent waits forever for its request, in a busy loop. So
# this only checks that it listens.
answers_octavia_driver_agent() {
  is_running octavia-driver-agent && grep -q " 00010000 .* $STATE/run/octavia-status.sock\$" /proc/net/unix
}
