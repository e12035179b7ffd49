# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # templates use what is set here
#
# Neutron: networks, ports, floating IPs, security groups; ML2 with OVN, or with a driver that binds
# every port without an agent.

neutron_configure() {
  SERVICE_TYPE=network DATABASE_URL=$(database_url neutron)
  # With OVN only workers connect to its databases, so there must be one.
  API_WORKERS=0 SERVICE_PLUGINS=router,trunk MECHANISM_DRIVERS=bind_all TENANT_NETWORKS=local
  if [ "$PROVIDER" = ovn ]; then
    API_WORKERS=1 SERVICE_PLUGINS=ovn-router MECHANISM_DRIVERS=ovn,bind_all TENANT_NETWORKS=geneve
  fi
  METADATA_ENABLED=$(true_if "$METADATA_PORT")
  account neutron
  mkdir -p "$STATE/neutron/lock"
  render neutron.conf database.conf authtoken.conf >"$STATE/etc/neutron/neutron.conf"
  render neutron-paste.ini >"$STATE/etc/neutron/api-paste.ini"
  empty_policy neutron
}

neutron_schema() {
  "$PYTHON" -c 'from neutron.db.migration.cli import main; main()' \
    --config-file "$STATE/etc/neutron/neutron.conf" upgrade heads
}

# neutron_in_eventlet: only OVN needs neutron-server with eventlet and workers, which Neutron 26 and
# newer do not have. As a WSGI application Neutron can use the C driver of the database.
neutron_in_eventlet() { is_oldest_release && [ "$PROVIDER" = ovn ]; }

neutron_start() {
  if neutron_in_eventlet; then
    start neutron "$PORT_NETWORK" "$STATE/etc/neutron" \
      "$PYTHON" -m openstack_shims.neutron_server --config-file "$STATE/etc/neutron/neutron.conf"
  else
    start_wsgi neutron "$PORT_NETWORK" "$STATE/etc/neutron" 1 "$(neutron_module)" \
      OS_NEUTRON_CONFIG_FILES="$STATE/etc/neutron/neutron.conf"
  fi
}

neutron_module() { if is_oldest_release; then echo neutron_application; else echo neutron_threads; fi; }

answers_neutron() { answers_http "$PORT_NETWORK"; }
