# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# shellcheck disable=SC2034  # templates use what is set here
#
# Keystone: users, projects, tokens, the catalogue.

keystone_url() { echo "http://$HOST:$PORT_IDENTITY/v3"; }

keystone_configure() {
  DATABASE_URL=$(database_url keystone) CACHE_BACKEND=oslo_cache.dict
  # Keystone 27 and newer validate their own answers. They refuse an answer with a role from the
  # cache to which an earlier answer has added links. This cache returns copies.
  is_oldest_release || CACHE_BACKEND=dogpile.cache.memory_pickle
  render keystone.conf database.conf >"$STATE/etc/keystone/keystone.conf"
  empty_policy keystone
  make_keys fernet-keys
  make_keys credential-keys
}

# make_keys FOLDER: keys of tokens and credentials, as keystone-manage would create them.
make_keys() {
  local folder=$STATE/etc/keystone/$1 key
  [ ! -e "$folder/1" ] || return 0
  mkdir -p "$folder" && chmod 700 "$folder"
  for key in 0 1; do
    (umask 077 && head -c 32 /dev/urandom | base64 | tr '+/' '-_' | tr -d '\n' >"$folder/$key")
  done
}

keystone_schema() { keystone-manage --config-file "$STATE/etc/keystone/keystone.conf" db_sync; }

# keystone_bootstrap: the first user, which creates everything else.
keystone_bootstrap() {
  [ ! -e "$STATE/run/made.bootstrap" ] || return 0
  keystone-manage --config-file "$STATE/etc/keystone/keystone.conf" bootstrap \
    --bootstrap-username admin --bootstrap-password "$ADMIN_PASSWORD" \
    --bootstrap-project-name admin --bootstrap-role-name admin \
    --bootstrap-service-name keystone --bootstrap-region-id RegionOne \
    --bootstrap-admin-url "$(keystone_url)" --bootstrap-internal-url "$(keystone_url)" \
    --bootstrap-public-url "$(keystone_url)" >"$STATE/log/keystone-bootstrap.out" 2>&1 ||
    { tail -n 20 "$STATE/log/keystone-bootstrap.out" >&2; fail "keystone-manage bootstrap failed"; }
  touch "$STATE/run/made.bootstrap"
}

# One thread: Keystone 22 stores the token of the current request in a variable that all threads
# share (AuthContextMiddleware.token). With more threads, a request might be authorized with the
# token of another one.
keystone_start() {
  start_wsgi keystone "$PORT_IDENTITY" "$STATE/etc/keystone" 1 keystone_application \
    OS_KEYSTONE_CONFIG_FILES="$STATE/etc/keystone/keystone.conf"
}

answers_keystone() { answers_http "$PORT_IDENTITY"; }

# account USER: sets SERVICE_ACCOUNT, with which a service authenticates to Keystone.
account() {
  SERVICE_USER=$1
  SERVICE_ACCOUNT=$(render account.conf)
}
