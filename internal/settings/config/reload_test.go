// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// otherValues returns a configuration in which every key that has a field has another value than in zero
// ones.
func otherValues(t *testing.T) Config {
	t.Helper()
	var c Config
	for _, key := range table {
		if key.field == nil {
			continue
		}
		switch p := key.field(&c).(type) {
		case *string:
			*p = "other " + key.Name
		case *Secret:
			*p = Secret("other " + key.Name)
		case *bool:
			*p = true
		case *int:
			*p = 7
		case *time.Duration:
			*p = 7 * time.Second
		case *[]string:
			*p = []string{"other"}
		case *[]netip.Prefix:
			*p = []netip.Prefix{netip.MustParsePrefix("7.0.0.0/8")}
		default:
			t.Fatalf("[%s] %s: a key of type %T cannot be compared or reloaded", key.Section, key.Name, p)
		}
	}
	return c
}

func TestCredentialsAndCertificatesAreReloadedAndWhereTheCloudIsStays(t *testing.T) {
	newer := otherValues(t).Global
	got := Global{}.Reloaded(newer)
	var kept []string
	for i, field := range reflect.VisibleFields(reflect.TypeFor[Global]()) {
		if !reflect.DeepEqual(reflect.ValueOf(got).Field(i).Interface(), reflect.ValueOf(newer).Field(i).Interface()) {
			kept = append(kept, field.Name)
		}
	}
	if diff := cmp.Diff([]string{"AuthURL", "Region", "EndpointType", "NetworkEndpoint", "LoadBalancerEndpoint", "ComputeEndpoint", "KeyManagerEndpoint"}, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func TestEveryUsedKeyIsReloadedOrNeedsARestart(t *testing.T) {
	newer := otherValues(t)
	said := Config{}.NeedRestart(newer)
	for _, key := range table {
		name := "[" + key.Section + "] " + key.Name
		switch found := slices.Contains(said, name); {
		case key.field == nil && found, key.Live && found:
			t.Errorf("%s needs no restart", name)
		case key.field != nil && !key.Live && !found:
			t.Errorf("%s needs a restart, and NeedRestart does not say so", name)
		}
	}
	if again := newer.NeedRestart(newer); len(again) > 0 {
		t.Errorf("nothing has changed, and a restart is needed for %v", again)
	}
}
