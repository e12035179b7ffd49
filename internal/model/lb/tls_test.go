// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"testing"
)

func TestReferencesToBarbicanEndInAKindAndAnID(t *testing.T) {
	const id = "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	for _, good := range []string{
		"https://barbican.example.com/v1/containers/" + id, "http://10.0.0.1:9311/key-manager/v1/containers/" + id, "/containers/" + id, "containers/" + id,
	} {
		t.Run(good, func(t *testing.T) {
			if got, ok := ParseSecretRef(good); !ok || got != (SecretRef{"containers", id}) {
				t.Errorf("%+v, %v", got, ok)
			}
		})
	}
	if got, ok := ParseSecretRef("https://barbican.example.com/v1/secrets/" + id); !ok || got.Kind != "secrets" {
		t.Errorf("a secret: %+v, %v", got, ok)
	}
	for _, bad := range []string{
		"", id, "my-certificate", "https://barbican.example.com/v1/orders/" + id, "https://barbican.example.com/v1/containers/" + id + "/acl",
		"https://barbican.example.com/v1/containers/..", "https://barbican.example.com/v1/containers/" + id + " ", "a,b/containers/" + id, "xcontainers/" + id,
	} {
		t.Run(fmt.Sprintf("%q", bad), func(t *testing.T) {
			if got, ok := ParseSecretRef(bad); ok {
				t.Errorf("it is taken for %+v", got)
			}
		})
	}
}

func TestCertificateInUseIsTheSameSecretByWhateverAddress(t *testing.T) {
	const (
		stored  = "https://barbican.example.com/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
		same    = "http://10.0.0.1:9311/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
		another = "https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	)
	for name, c := range map[string]struct {
		listener Listener
		ref      string
	}{
		"no TLS":                             {Listener{ID: "l"}, ""},
		"its certificate":                    {Listener{ID: "l", TLS: &TLS{Certificate: stored}}, stored},
		"its certificate for a host name":    {Listener{ID: "l", TLS: &TLS{Certificate: another, SNI: []string{stored}}}, stored},
		"its certificate by another address": {Listener{ID: "l", TLS: &TLS{Certificate: same}}, same},
		"a container of the same id":         {Listener{ID: "l", TLS: &TLS{Certificate: another}}, ""},
		"a name instead of a reference":      {Listener{ID: "l", TLS: &TLS{Certificate: "my-certificate"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			one := Certificate{Name: "n", Ref: stored}
			listeners := []Listener{{ID: "k"}, c.listener}
			if got := one.RefIn(LoadBalancer{Listeners: listeners}); got != c.ref {
				t.Errorf("got %q, want %q", got, c.ref)
			}
			want := ""
			if c.ref != "" {
				want = "listener l terminates TLS with it"
			}
			if got := one.InUse(listeners); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
