// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"errors"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
)

// The first pass over a Service after a start uses what the survey has listed, if this is the plain case: one ACTIVE
// load balancer, which only this Service uses. In all other cases the Service is read.

// AwaitSurvey reports, by a done that is not nil, whether the first pass over a Service may read the cloud now. The
// caller calls done after the read: see survey.Survey.Admit. Only a Service with a load balancer waits for the survey.
func (ob *Observer) AwaitSurvey(ctx context.Context, f decide.Facts) (done func()) {
	if ob.Survey == nil || !firstPass(f) || f.Owner.Recorded.LoadBalancerID == "" || f.Owner.Group != "" {
		return func() {}
	}
	return ob.Survey.Admit(f.Owner.Key, func() bool {
		in, err := ob.Members.FollowInput(ctx, f.Owner, lb.Observed{})
		return err != nil || decide.Digest(in) != noteOn(f.Owner).Digest
	})
}

// firstPass reports whether nothing is remembered of what the Service has in the cloud.
func firstPass(f decide.Facts) bool {
	c := f.Record.Cloud
	return f.Owner.Serves && c.Written.IsZero() && c.Unanswered.IsZero()
}

func noteOn(of claim.Owner) survey.Note {
	return survey.ParseNote(of.Recorded.Note)
}

// observeSurveyed is ObservePlain with the lists of the survey.
func (ob *Observer) observeSurveyed(ctx context.Context, f decide.Facts) (decide.Facts, bool, error) {
	if ob.Survey == nil {
		return f, false, nil
	}
	lists := ob.Survey.Take(f.Owner.Key)
	if lists == nil {
		return f, false, nil
	}
	f, done, err := ob.ObservePlain(ctx, f, lists)
	if done {
		f.FromMemory = true // other clients may have changed it since it was listed
	}
	return f, done, err
}

// ObservePlain takes what the Service has from lists of the project, and reads what they lack. It returns false if this is not
// the plain case, so that everything has to be read.
func (ob *Observer) ObservePlain(ctx context.Context, f decide.Facts, lists *survey.Snapshot) (decide.Facts, bool, error) {
	if !firstPass(f) || f.Owner.Group != "" {
		return f, false, nil
	}
	s := ob.searchFor(f)
	s.balancers, s.floating = lists, lists
	found, err := s.read(ctx)
	if err != nil || !ob.plain(found, s.owner) || ob.createMayBePending(f, found) {
		return f, false, nil
	}
	wanted, err := ob.Members.WantedMembers(ctx, f.Owner, found)
	if err != nil {
		wanted = lb.Wanted{} // the Service is refused, or its members are unknown
	}
	note, listed := noteOn(f.Owner), lists.Listed(found.LoadBalancer.ID)
	reading := survey.Choose(note, wanted, listed)
	full, err := ob.withMembers(ctx, reading, listed, wanted)
	if errors.Is(err, survey.ErrNotListed) || openstack.Classify(err) == openstack.Gone {
		return f, false, nil // the lists lack something, or the load balancer was deleted since
	} else if err != nil {
		return f, false, err
	}
	found.LoadBalancer = &full
	f.Record.Cloud = remember(f, found, false)
	if reading != survey.All {
		f.Record.Cloud.Stale = note.Unread
	}
	return f, true, nil
}

// withMembers reads the members of the listed load balancer, as far as that is necessary.
func (ob *Observer) withMembers(ctx context.Context, reading survey.Reading, l octavia.Listed, wanted lb.Wanted) (lb.LoadBalancer, error) {
	switch reading {
	case survey.Nothing:
		return survey.WithWantedMembers(l, wanted)
	case survey.Tree:
		tree, err := ob.Octavia.Tree(ctx, l.Bare.ID)
		if err != nil {
			return lb.LoadBalancer{}, err
		}
		return survey.WithTree(l, tree, wanted)
	}
	return ob.Octavia.ReadMembers(ctx, l)
}

// plain reports whether the lists are enough to know what the Service has, except members.
func (ob *Observer) plain(o lb.Observed, of lb.Owner) bool {
	l := o.LoadBalancer
	return l != nil && l.ProvisioningStatus == lb.Active && !o.Sharer && o.Predecessor == nil && len(o.Duplicates)+len(o.Unsettled) == 0 &&
		!diff.Shared(*l, of) && (ob.Remembered == nil || len(ob.Remembered.Users(l.ID)) == 0)
}
