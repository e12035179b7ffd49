// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package owner

import "testing"

func TestKeyOfAServiceIsPrintedWithoutItsKind(t *testing.T) {
	for _, c := range []struct {
		name string

		key  Key
		want string
	}{
		{"Service", ServiceKey("default", "web"), "default/web"},
		{"another kind", Key{Kind: "Gateway", Namespace: "default", Name: "web"}, "Gateway default/web"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := c.key.String(); got != c.want {
				t.Errorf("%#v is called %q, want %q", c.key, got, c.want)
			}
		})
	}
}

func TestServiceAndAnotherKindOfTheSameNameHaveDifferentKeys(t *testing.T) {
	if ServiceKey("default", "web") == (Key{Kind: "Gateway", Namespace: "default", Name: "web"}) {
		t.Error("the keys are equal")
	}
}

func TestCloudObjectsOfAServiceAreNotThoseOfAnotherObjectOfItsName(t *testing.T) {
	for _, c := range []struct {
		key  Key
		want string
	}{
		{ServiceKey("default", "web"), "web"},
		{Key{Kind: "Gateway", Namespace: "default", Name: "web"}, "Gateway:web"},
	} {
		if got := c.key.CloudName(); got != c.want {
			t.Errorf("%s is called %q in the cloud, want %q", c.key, got, c.want)
		}
	}
}
