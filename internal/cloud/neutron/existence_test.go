// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
)

// absentID is the id of an object that does not exist.
const absentID = "5d9e3b5a-0000-4000-8000-000000000001"

func TestTagsOfADeletedFloatingIPAreGoneInEachRelease(t *testing.T) {
	for r, calls := range map[release.Release]int{release.Zed: 1, release.Epoxy: 2, release.Newest: 2} {
		t.Run(r.String(), func(t *testing.T) {
			cloud := newCloudOf(t, cloudsim.Options{Release: r})
			_, err := cloud.Apply(t.Context(), diff.SetFloatingIPTags{ID: absentID, Tags: []string{"a"}})
			if class := openstack.Classify(err); class != openstack.Gone {
				t.Errorf("class %s: %v", class, err)
			}
			if made := cloud.Recorder().Calls(); len(made) != calls {
				t.Errorf("%d calls, want %d", len(made), calls)
			}
		})
	}
}

func TestAWriteThatFailsWith500IsTransientOnlyWhileItsObjectExists(t *testing.T) {
	cloud := newCloud(t, simulator.Options{})
	cloud.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Service: "network", Method: http.MethodPut, Status: http.StatusInternalServerError})
	cloud.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Service: "network", Method: http.MethodDelete, Status: http.StatusInternalServerError})
	ctx := t.Context()
	floatingIP := cloud.make(diff.CreateFloatingIP{FloatingIP: lb.FloatingIP{NetworkID: cloud.IDs().PublicNetwork}}).ID
	group, err := cloud.ApplySecurityGroup(ctx, securitygroup.CreateGroup{Name: "nodes"})
	if err != nil || len(group.Group.Rules) == 0 {
		t.Fatal(group, err)
	}
	port, groupID, rule := cloud.port(), group.Group.ID, group.Group.Rules[0]
	apply := func(op diff.Op) error {
		_, err := cloud.Apply(ctx, op)
		return err
	}
	applyGroup := func(op securitygroup.Op) error {
		_, err := cloud.ApplySecurityGroup(ctx, op)
		return err
	}
	for name, write := range map[string]struct {
		there, gone func() error
		// missing is the class for an object that does not exist: empty if that is not an error.
		missing openstack.Class
	}{
		"attach a floating IP":          {func() error { return apply(diff.AssociateFloatingIP{ID: floatingIP, PortID: port}) }, func() error { return apply(diff.AssociateFloatingIP{ID: absentID, PortID: port}) }, openstack.Gone},
		"detach a floating IP":          {func() error { return apply(diff.DisassociateFloatingIP{ID: floatingIP}) }, func() error { return apply(diff.DisassociateFloatingIP{ID: absentID}) }, ""},
		"set the tags of a floating IP": {func() error { return apply(diff.SetFloatingIPTags{ID: floatingIP}) }, func() error { return apply(diff.SetFloatingIPTags{ID: absentID}) }, openstack.Gone},
		"delete a floating IP":          {func() error { return apply(diff.DeleteFloatingIP{ID: floatingIP}) }, func() error { return apply(diff.DeleteFloatingIP{ID: absentID}) }, ""},
		"delete a port":                 {func() error { return cloud.DeletePort(ctx, port) }, func() error { return cloud.DeletePort(ctx, absentID) }, ""},
		"delete a security group":       {func() error { return applyGroup(securitygroup.DeleteGroup{ID: groupID}) }, func() error { return applyGroup(securitygroup.DeleteGroup{ID: absentID}) }, ""},
		"remove a rule": {func() error { return applyGroup(securitygroup.RemoveRule{GroupID: groupID, Rule: rule}) },
			func() error {
				return applyGroup(securitygroup.RemoveRule{GroupID: groupID, Rule: securitygroup.FoundRule{ID: absentID}})
			}, ""},
		"set the security groups of a port": {func() error { return applyGroup(securitygroup.SetGroups{Port: securitygroup.Port{ID: port}}) },
			func() error { return applyGroup(securitygroup.SetGroups{Port: securitygroup.Port{ID: absentID}}) }, openstack.Gone},
	} {
		t.Run(name, func(t *testing.T) {
			got := []openstack.Class{openstack.Classify(write.there()), openstack.Classify(write.gone())}
			if diff := cmp.Diff([]openstack.Class{openstack.Transient, write.missing}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
