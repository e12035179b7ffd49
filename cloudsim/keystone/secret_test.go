// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import (
	"slices"
	"testing"
)

func TestSecretsThatAreNoLongerValidAreListed(t *testing.T) {
	h := newHouse(t)
	token := h.aliceToken(t)
	path := "/v3/users/" + h.alice + "/application_credentials"
	_, _, body := h.do(t, token, "POST", path, `{"application_credential":{"name":"ci","secret":"c-secret"}}`)
	id, _ := body["application_credential"].(map[string]any)["id"].(string)
	if status, _, _ := h.do(t, token, "DELETE", path+"/"+id, ""); status != 204 {
		t.Fatalf("the application credential is not deleted: %d", status)
	}
	h.ExpireTokens()
	for _, secret := range []string{token, "a-secret", "b-secret", "c-secret"} {
		if !slices.Contains(h.Secrets(), secret) {
			t.Errorf("%s is not among %v", secret, h.Secrets())
		}
	}
}
