# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# The objects that are created through the APIs: see the Python package bootstrap.

# write_settings: the input of that package.
write_settings() {
  (
    umask 077
    cat >"$STATE/etc/bootstrap.json" <<SETTINGS
{
  "state": "$STATE",
  "provider": "$PROVIDER",
  "release": "$RELEASE",
  "tenants": [$(if [ "$UNPATCHED" = 1 ]; then echo '"k8s", "unpatched"'; else echo '"k8s"'; fi)],
  "servers": $SERVERS,
  "mysql_socket": "$(mariadb_socket)",
  "prefix": "$PREFIX",
  "internet_address": "$INTERNET_ADDRESS",
  "admin_password": "$ADMIN_PASSWORD",
  "service_password": "$SERVICE_PASSWORD",
  "password": "$K8S_PASSWORD",
  "reader_password": "$K8S_PASSWORD",
  "other_password": "$OTHER_PASSWORD",
  "endpoints": {
    "identity": "$(keystone_url)",
    "network": "http://$HOST:$PORT_NETWORK",
    "load-balancer": "http://$HOST:$PORT_LOAD_BALANCER",
    "compute": "http://$HOST:$PORT_COMPUTE/v2.1",
    "image": "http://$HOST:$PORT_COMPUTE/image",
    "placement": "http://$HOST:$PORT_PLACEMENT",
    "key-manager": "http://$HOST:$PORT_KEY_MANAGER"
  }
}
SETTINGS
  )
}

# bootstrap STEP
bootstrap() { PYTHONPATH=$HERE:$HERE/shims "$PYTHON" -m bootstrap "$1" "$STATE/etc/bootstrap.json"; }

# bootstrap_identity: users and catalogue change only if the endpoints or tenants do, so a second
# openstack-up does not have to check each of them.
bootstrap_identity() {
  local made
  made=$({ grep -E 'http|tenants' "$STATE/etc/bootstrap.json" && cat "$HERE/bootstrap/identity.py"; } | sha256sum)
  [ "$made" != "$(cat "$STATE/run/made.identity" 2>/dev/null)" ] || return 0
  bootstrap identity
  echo "$made" >"$STATE/run/made.identity"
}
