// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestAnOwnerThatBecomesInternalLeavesItsLoadBalancerToTheOthers(t *testing.T) {
	f := factsOf(web(publishing), "10.0.0.11")
	l := f.built("lb-1", "kube_service_kubernetes_default_api")
	f = f.with(l)
	f = f.changed(web(publishing, annotated(annotation.Internal, "true")))
	f.Desired.Input.FoundAddress, f.Desired.Input.WouldCutOff = "203.0.113.7", []string{"default/api"}
	_, f.Desired.Err = desired.Wanted(f.Desired.Input)
	d := Decide(f)
	if d.Goal.Refused == nil || !d.Goal.Refused.Exposed {
		t.Fatalf("refused: %+v, %v", d.Goal.Refused, d.Goal.Err)
	}
	if diff := cmp.Diff([]string{"DeleteListener", "DeletePool", "UpdateLoadBalancer"}, kinds(d.Plan.Ops)); diff != "" {
		t.Errorf("operations (-want +got):\n%s", diff)
	}
}
