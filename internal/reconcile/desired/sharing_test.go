// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestARefusalToShareSaysWhatPreventsIt(t *testing.T) {
	const name = "kube_service_kubernetes_"
	internal := annotate("service.beta.kubernetes.io/openstack-internal-load-balancer", "true")
	sharer := func(address string, tags ...string) change {
		return func(in *Input) {
			found("10.0.0.9")(in)
			in.Sharer, in.Owner.Sharer, in.FoundAddress, in.Config.MaxShared, in.Found.Tags = true, true, address, 2, tags
		}
	}
	asksForFloating := func(in *Input) { in.OwnerExternal = true }
	opens := func(in *Input) {
		found("10.0.0.9")(in)
		in.WouldExpose = []string{"shop/api", "shop/db"}
	}
	for what, c := range map[string]struct {
		in   Input
		told string
	}{
		"a sharer":                        {input(sharer("203.0.113.5")), ""},
		"an internal sharer":              {input(internal, sharer("10.0.0.9")), ""},
		"one too many":                    {input(sharer("203.0.113.5", name+"a_b", name+"a_c")), "max-shared-lb allows 2"},
		"one too many of a group":         {input(annotate(annotation.LoadBalancerGroup, "shop"), sharer("203.0.113.5", name+"a_b", name+"a_c")), `of group "shop"`},
		"an internal one, opened":         {input(internal, sharer("203.0.113.5")), "would expose the ports"},
		"an internal one, to be opened":   {input(internal, sharer("10.0.0.9"), asksForFloating), "requests a floating IP"},
		"an external one, not opened":     {input(sharer("10.0.0.9")), "no floating IP"},
		"a floating IP that opens others": {input(opens), "(shop/api, shop/db)"},
		"none, beside others":             {input(internal, opens), ""},
	} {
		_, err := Wanted(c.in)
		var refused *Invalid
		if errors.As(err, &refused) != (c.told != "") || refused != nil && (refused.Reason != ReasonSharingRefused || !strings.Contains(refused.Message, c.told)) {
			t.Errorf("%s: %v", what, err)
		}
	}
	there := input(internal, sharer("10.0.0.9"), asksForFloating)
	there.Found.Tags = []string{there.Owner.LoadBalancerName()}
	if _, err := Wanted(there); err != nil {
		t.Errorf("one that has its ports there already, before it is opened: %v", err)
	}
}
