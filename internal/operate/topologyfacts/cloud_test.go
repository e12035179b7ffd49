// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topologyfacts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
)

// signalled reports whether a Watcher would check the cloud again.
func signalled(c *Cloud) bool {
	select {
	case <-c.changed:
		return true
	default:
		return false
	}
}

func TestViewersAreNotifiedWhenTheConnectionFailsForAnotherReasonOrIsMade(t *testing.T) {
	c := NewCloud()
	bad := func(id string) error {
		return &openstack.Error{Class: openstack.Transient, Status: 502, Op: "log in", RequestID: id}
	}
	c.Failed(bad("req-1"))
	p, since, failure := c.current()
	if p != nil || failure == nil || since.IsZero() || !signalled(c) {
		t.Fatalf("planner %v, failure %v since %v", p, failure, since)
	}
	c.Failed(bad("req-2"))
	if signalled(c) {
		t.Error("the same failure with another request is no news")
	}
	c.Failed(errors.New("no route to host"))
	if _, again, _ := c.current(); !signalled(c) || !again.Equal(since) {
		t.Errorf("another reason: since %v, before %v", again, since)
	}
	c.Connected(planner.Options{Adopt: claim.AdoptObserve})
	connected, _, failure := c.current()
	if connected == nil || connected.Adopt != claim.AdoptObserve || failure != nil || !signalled(c) {
		t.Fatalf("connected %v, failure %v", connected, failure)
	}
	if err := connected.Secrets.Get(t.Context(), client.ObjectKey{}, &corev1.Secret{}); !errors.Is(err, errSecretNotRead) {
		t.Errorf("Secrets can be read: %v", err)
	}
}

func TestTheWaitEndsWhenTheCloudIsConnected(t *testing.T) {
	w := New(Options{Cloud: NewCloud(), Interval: time.Hour, Logger: logr.Discard()})
	w.kube = newKube(w.Options)
	w.Cloud.Connected(planner.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w.wait(ctx, func() { t.Error("nothing has changed in the cluster") })
	if ctx.Err() != nil {
		t.Error("it waited for the interval")
	}
}

func TestConnectionThatIsAlreadyKnownDoesNotEndTheWait(t *testing.T) {
	w := New(Options{Cloud: NewCloud(), Logger: logr.Discard()})
	w.kube = newKube(w.Options)
	w.Cloud.Connected(planner.Options{Adopt: claim.AdoptObserve})
	w.connect()
	if w.planner == nil || w.planner.Options.Adopt != claim.AdoptObserve || signalled(w.Cloud) {
		t.Errorf("planner %v, and everything would be read twice", w.planner)
	}
}

func TestAProblemKeepsItsBeginningUntilItIsOver(t *testing.T) {
	w := New(Options{Cloud: NewCloud(), Logger: logr.Discard()})
	first, later := time.Unix(100, 0), time.Unix(200, 0)
	w.note(ofOpenStack, errors.New("502"), first)
	w.note(ofOpenStack, errors.New("503"), later)
	if all := w.sortedProblems(); len(all) != 1 || !all[0].Since.Equal(first) || all[0].Message != "503" {
		t.Errorf("%+v", all)
	}
	w.note(ofOpenStack, nil, later)
	if all := w.sortedProblems(); len(all) > 0 {
		t.Errorf("%+v", all)
	}
}

func TestTheAdviceFitsTheProblem(t *testing.T) {
	file, found := New(Options{Login: "/etc/cloud.conf", LoginFollowed: true}), New(Options{Login: "$OS_CLOUD (dev)"})
	for name, c := range map[string]struct {
		of   string
		err  error
		want string
	}{
		"the user lacks a right":     {ofKubernetes, fmt.Errorf("list: %w", apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", nil)), "the right to list and watch"},
		"Kubernetes does not answer": {ofKubernetes, errors.New("connection refused"), "It is retried"},
		"a password is wrong":        {ofOpenStack, &openstack.Error{Class: openstack.Unauthorized}, "Replace the credentials in /etc/cloud.conf. It is read again when it changes."},
		"a role is missing":          {ofOpenStack, &openstack.Error{Class: openstack.Invalid}, "roles and access rules of the credentials in /etc/cloud.conf. "},
		"too many calls":             {ofOpenStack, &openstack.Error{Class: openstack.Throttled}, "--refresh-interval"},
		"502":                        {ofOpenStack, &openstack.Error{Class: openstack.Transient, Status: 502}, "It is retried"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := file.action(c.of, c.err); !strings.Contains(got, c.want) {
				t.Errorf("got %s", got)
			}
		})
	}
	if text := found.action(ofOpenStack, &openstack.Error{Class: openstack.Unauthorized}); text != "Replace the credentials in $OS_CLOUD (dev), and start this command again." {
		t.Errorf("without a file: %s", text)
	}
	if text := file.action(ofKubernetes, errors.New("connection refused")); strings.Contains(text, "right") {
		t.Errorf("a cluster that does not answer lacks no right: %s", text)
	}
}

func TestReadThatIsCancelledIsNoProblem(t *testing.T) {
	w := New(Options{Cloud: NewCloud(), Logger: logr.Discard()})
	ctx, end := context.WithCancel(t.Context())
	w.noteUnlessEnded(ctx, ofOpenStack, errors.New("502"))
	end()
	w.noteUnlessEnded(ctx, ofKubernetes, ctx.Err())
	w.noteUnlessEnded(ctx, ofOpenStack, nil)
	if all := w.sortedProblems(); len(all) != 1 || all[0].Of != ofOpenStack {
		t.Errorf("%+v", all)
	}
}
