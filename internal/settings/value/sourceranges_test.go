// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSourceRangesAreMaskedAndBareAddressesRefused(t *testing.T) {
	got, err := ParseCIDRs([]string{"192.0.2.77/24", " ", "2001:db8:0:0:1::/64", "0.0.0.0/0"})
	want := []string{"192.0.2.0/24", "2001:db8::/64", "0.0.0.0/0"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, CIDRs (-want +got):\n%s", err, diff)
	}
	got, err = ParseCIDRs([]string{"10.0.0.0/8", "192.0.2.1"})
	if err == nil || !strings.Contains(err.Error(), `"192.0.2.1"`) || got != nil {
		t.Errorf("with a bare address: %v, error %v; want none and an error that names it", got, err)
	}
}

func FuzzCIDRs(f *testing.F) {
	for _, s := range []string{"", "10.0.0.1/8", "::ffff:10.0.0.0/104", "10.0.0.0/8,2001:db8::/32", "fe80::1%eth0/64", "1.2.3.4", "010.0.0.0/8"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values := strings.Split(text, ",")
		cidrs, err := ParseCIDRs(values)
		if err != nil {
			if cidrs != nil {
				t.Fatalf("%v beside the error %v", cidrs, err)
			}
			return
		}
		for _, c := range cidrs {
			p, err := netip.ParsePrefix(c)
			if err != nil || p.Masked() != p || p.String() != c {
				t.Errorf("%q is not a masked prefix as it is usually written (%v)", c, err)
			}
		}
		for _, v := range values {
			p, err := netip.ParsePrefix(strings.TrimSpace(v))
			if err == nil && !slices.Contains(cidrs, p.Masked().String()) {
				t.Errorf("%s got lost: %v", v, cidrs)
			}
		}
		if again, err := ParseCIDRs(cidrs); err != nil || !slices.Equal(again, cidrs) {
			t.Errorf("read again: %v, %v; want %v", again, err, cidrs)
		}
	})
}
