# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # templates use what is set here
#
# Barbican: secrets and containers of certificates.

barbican_configure() {
  SERVICE_TYPE=key-manager DATABASE_URL=$(database_url barbican)
  account barbican
  # Barbican reads its configuration from the home folder; no other location can be configured.
  mkdir -p "$STATE/etc/barbican/.barbican"
  render barbican.conf authtoken.conf >"$STATE/etc/barbican/.barbican/barbican.conf"
  # In Barbican 23 of the newest release a filter assigns the request ids, as in its default pipeline.
  REQUEST_ID=
  [ "$RELEASE" != newest ] || REQUEST_ID='request_id '
  render barbican-paste.ini >"$STATE/etc/barbican/api-paste.ini"
  empty_policy barbican
}

barbican_schema() {
  HOME=$STATE/etc/barbican "$PYTHON" -c 'from barbican.cmd.db_manage import main; main()' -d "$(database_url barbican)" upgrade
}

barbican_start() {
  start_wsgi barbican "$PORT_KEY_MANAGER" "$STATE/etc/barbican" 4 barbican_application \
    HOME="$STATE/etc/barbican" BARBICAN_PASTE="$STATE/etc/barbican/api-paste.ini"
}

answers_barbican() { answers_http "$PORT_KEY_MANAGER"; }
