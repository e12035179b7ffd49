# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # templates use what is set here
#
# Placement: Nova does not start a server without it.

placement_configure() {
  SERVICE_TYPE=placement DATABASE_URL=$(database_url placement)
  account placement
  # Placement has its own section for its database.
  render placement.conf authtoken.conf >"$STATE/etc/placement/placement.conf"
  empty_policy placement
}

placement_schema() { placement-manage --config-file "$STATE/etc/placement/placement.conf" db sync; }

placement_start() {
  start_wsgi placement "$PORT_PLACEMENT" "$STATE/etc/placement" 4 placement_application \
    OS_PLACEMENT_CONFIG_DIR="$STATE/etc/placement"
}

answers_placement() { answers_http "$PORT_PLACEMENT"; }
