# Copyright The kube-octavia Authors.
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Configuration files are written from the templates in config/.

# render TEMPLATE...: prints the templates, with the variable NAME for each @NAME@. An unset name
# ends the program.
render() {
  local text='' name template
  for template in "$@"; do text+=$(<"$HERE/config/$template")$'\n'; done
  while [[ $text =~ @([A-Z0-9_]+)@ ]]; do
    name=${BASH_REMATCH[1]}
    text=${text//"@$name@"/"${!name}"}
  done
  printf '%s' "$text"
}

# empty_policy SERVICE: so that no policy in /etc is read.
empty_policy() { : >"$STATE/etc/$1/policy.yaml"; }
