// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsyaml

import (
	"fmt"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/spelling"
)

// removeKey is the advice for a key without effect.
const removeKey = "Remove the key, unless another program reads the file."

// noticeUnused adds a notice about each key that has no effect.
func (t *translation) noticeUnused() {
	for key, v := range t.allKeys() {
		if t.used[key] || v.isNull() || t.asHere(key, v) {
			continue
		}
		text := "The key has no effect here."
		if meant := meantBy(key); meant != "" {
			t.notice(key, v, false, text, fmt.Sprintf("Did you mean %s?", meant))
			continue
		}
		if why := unusedBecause(key); why != "" {
			text += " " + why
		}
		t.notice(key, v, false, text, removeKey)
	}
}

// asHere reports whether a key without effect requests what kube-octavia does anyway.
func (t *translation) asHere(key string, v value) bool {
	text, err := v.text()
	if err != nil {
		return false
	}
	switch key {
	case "identity_api_version":
		text = strings.TrimPrefix(text, "v")
		return text == "3" || strings.HasPrefix(text, "3.")
	case "network_api_version", "load_balancer_api_version":
		return text == "2" || text == "2.0"
	}
	return false
}

// unusedBecause returns why a key of openstacksdk has no effect, or "" if it belongs to another
// service.
func unusedBecause(key string) string {
	switch {
	case key == "identity_api_version":
		return "kube-octavia uses version 3 of Keystone."
	case key == "identity_endpoint_override", key == "identity_endpoint":
		return "auth_url is the address of Keystone."
	case key == "auth.system_scope", key == "system_scope":
		return "The token must be scoped to a project."
	case key == "auth.passcode", key == "passcode", key == "auth_methods":
		return "kube-octavia cannot log in with more than one factor."
	case key == "api_timeout", key == "timeout":
		return "request-timeout in [Metadata] of cloud.conf limits the time of a call."
	}
	for _, service := range []string{"network", "load_balancer", "compute", "key_manager"} {
		switch strings.TrimPrefix(key, service+"_") {
		case "interface", "endpoint_type":
			return "All services have one interface: os-endpoint-type in [Global] of cloud.conf."
		case "region_name":
			return "All services have one region: region in [Global] of cloud.conf."
		}
	}
	return ""
}

// otherNames are names that other files use for keys of clouds.yaml.
var otherNames = map[string]string{
	"region": "region_name", "auth.region_name": "region_name, outside of auth", "auth.region": "region_name, outside of auth",
	"auth.project": "project_name", "auth.tenant": "project_name", "auth.user": "username",
	"auth.user_domain": "user_domain_name", "auth.project_domain": "project_domain_name",
	"auth.verify": "verify, outside of auth", "auth.insecure": "insecure, outside of auth", "auth.cacert": "cacert, outside of auth",
	"auth.interface": "interface, outside of auth", "auth.auth_type": "auth_type, outside of auth",
	"ca_file": "cacert", "cafile": "cacert", "ca_cert": "cacert", "cert_file": "cert", "key_file": "key", "tls_insecure": "insecure",
	"auth.id": "application_credential_id", "auth.secret": "application_credential_secret",
}

// meantBy returns the key that is probably meant by one without effect, or "".
func meantBy(key string) string {
	if other := otherNames[key]; other != "" {
		return other
	}
	name, inAuth := strings.CutPrefix(key, "auth.")
	if !inAuth && (strings.HasSuffix(name, "_api_version") || strings.Contains(name, "_endpoint") || strings.HasSuffix(name, "_interface")) {
		return "" // of another service
	}
	var candidates []string
	for _, k := range authKeys {
		candidates = append(candidates, k.names...)
	}
	if !inAuth {
		candidates = []string{"auth", "auth_type", "region_name", "regions", "profile", "verify", "insecure"}
		for _, k := range otherKeys {
			candidates = append(candidates, k.names...)
		}
	}
	best, near := spelling.Nearest(name, candidates)
	if !near {
		return ""
	}
	return best
}
