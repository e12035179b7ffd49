// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb_test

import (
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestTheNameOfACertificateIdentifiesItsOwner(t *testing.T) {
	owner := lb.Owner{ClusterUID: "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04", ServiceUID: "0a1b2c3d-0c5d-4e8e-9d43-7b1c2a6f5e04"}
	hash := strings.Repeat("0123456789abcdef", 4)
	name := owner.CertificateName(hash)
	if len(name) > 255 {
		t.Errorf("%s is longer than Barbican takes", name)
	}
	mark, ok := lb.Certificate{Name: name}.Mark()
	if want := (lb.Mark{ClusterUID: owner.ClusterUID, ServiceUID: owner.ServiceUID}); !ok || mark != want {
		t.Errorf("%s is marked %+v, %v", name, mark, ok)
	}
	for name, other := range map[string]string{
		"empty":               "",
		"name given by hand":  "web",
		"more after it":       name + "x",
		"more before it":      "x" + name,
		"a character less":    name[:len(name)-1],
		"invalid hash":        owner.CertificateName("nonsense"),
		"no owner":            lb.Owner{}.CertificateName(hash),
		"two separators":      strings.Replace(name, "_", "__", 1),
		"a line end after it": name + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			if mark, ok := (lb.Certificate{Name: other}).Mark(); ok {
				t.Errorf("%q is marked %+v", other, mark)
			}
		})
	}
}

func FuzzNamesOfCertificates(f *testing.F) {
	f.Add(lb.Owner{ClusterUID: "c", ServiceUID: "s"}.CertificateName(strings.Repeat("0", 64)))
	f.Add("kube-octavia.certificate_c_s_0")
	f.Fuzz(func(t *testing.T, name string) {
		mark, ok := lb.Certificate{Name: name}.Mark()
		if !ok {
			return
		}
		owner := lb.Owner{ClusterUID: mark.ClusterUID, ServiceUID: mark.ServiceUID}
		if again := owner.CertificateName(name[strings.LastIndex(name, "_")+1:]); again != name {
			t.Errorf("%q and %q are the same", name, again)
		}
	})
}
