# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # templates use what is set here
#
# Nova: API, conductor, scheduler and a compute service with the fake
# hypervisor, in one process. Its servers are rows with real Neutron ports.

nova_configure() {
  SERVICE_TYPE=compute DATABASE_URL=$(database_url nova) API_DATABASE_URL=$(database_url nova_api)
  account neutron && NEUTRON_ACCOUNT=$SERVICE_ACCOUNT
  account placement && PLACEMENT_ACCOUNT=$SERVICE_ACCOUNT
  account nova
  COMPUTE_DRIVER=fake.FakeDriver SERVICE_USER_ACCOUNT=''
  # Nova 27 and newer remember their host, which differs after a restart with the fake driver.
  # Neutron 29 and newer let only a service delete a server's port.
  is_oldest_release || {
    COMPUTE_DRIVER=fake.FakeDriverWithoutFakeNodes
    SERVICE_USER_ACCOUNT="send_service_user_token = true"$'\n'$SERVICE_ACCOUNT
  }
  mkdir -p "$STATE"/nova/{lock,instances}
  render nova.conf database.conf authtoken.conf >"$STATE/etc/nova/nova.conf"
  render nova-paste.ini >"$STATE/etc/nova/api-paste.ini"
  empty_policy nova
}

nova_manage() {
  "$PYTHON" -c 'import sys; from nova.cmd.manage import main; sys.argv[0] = "nova-manage"; sys.exit(main())' \
    --config-file "$STATE/etc/nova/nova.conf" "$@"
}

nova_api_schema() { nova_manage api_db sync; }

nova_schema() { nova_manage db sync --local_cell; }

# nova_cell0 has the same tables as nova.
nova_cell0_schema() { dump_schema nova | mariadb --no-defaults --socket="$(mariadb_socket)" --user=root nova_cell0; }

# nova_cells: writes the rows of the two cells that every Nova has. nova-manage would need five
# seconds of start-up for each.
nova_cells() {
  [ ! -e "$STATE/run/made.cells" ] || return 0
  sql "DELETE FROM nova_api.cell_mappings;
    INSERT INTO nova_api.cell_mappings (created_at, uuid, name, transport_url, database_connection, disabled) VALUES
      (now(), '00000000-0000-0000-0000-000000000000', 'cell0', 'none:///', '$(database_url nova_cell0)', 0),
      (now(), 'c0ffee00-0000-4000-8000-000000000001', 'cell1', 'fake://', '$(database_url nova)', 0);"
  touch "$STATE/run/made.cells"
}

# nova_start: Nova 33 and newer have no API server.
nova_start() {
  if ! nova_has_server; then
    start_wsgi nova "$PORT_COMPUTE" "$STATE/etc/nova" 8 nova_application \
      OS_NOVA_CONFIG_DIR="$STATE/etc/nova" OS_NOVA_CONFIG_FILES="api-paste.ini;nova.conf"
    return
  fi
  start nova "$PORT_COMPUTE" "$STATE/etc/nova" "$PYTHON" -m openstack_shims.nova_in_one \
    --config-file "$STATE/etc/nova/nova.conf"
}

nova_has_server() {
  is_oldest_release ||
    "$PYTHON" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("nova.cmd.api_os_compute") is None)'
}

answers_nova() { answers_http "$PORT_COMPUTE"; }
