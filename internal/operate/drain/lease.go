// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// holderInterval is the time between two reads of the Lease while another process holds it.
const holderInterval = 2 * time.Second

// Lease is the Lease of the controller. Its holder may work on the Services.
type Lease struct {
	// Client has no cache.
	Client          client.Client
	Namespace, Name string
	// Duration is how long it is valid without a renewal.
	Duration time.Duration
	// Note reports to the user what happens.
	Note func(string)
}

// ScaleDown scales a Deployment in the namespace of the Lease to 0.
func (l Lease) ScaleDown(ctx context.Context, name string) error {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: l.Namespace, Name: name}}
	err := l.Client.SubResource("scale").Patch(ctx, deployment, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`)),
		client.WithSubResourceBody(&autoscalingv1.Scale{}))
	if err != nil {
		return fmt.Errorf("scale Deployment %s/%s to 0 (--scale-down): %w", deployment.Namespace, name, err)
	}
	l.Note(fmt.Sprintf("Deployment %s/%s is scaled to 0.", deployment.Namespace, name))
	return nil
}

// Holder returns a text about the process that holds the Lease, and what to do about it, or "" if
// none does.
func (l Lease) Holder(ctx context.Context) string {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: l.Namespace, Name: l.Name}
	switch err := l.Client.Get(ctx, key, &lease); {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no Lease %s, so no controller seems to run. If one runs, name its Lease with --leader-elect-resource-namespace "+
			"and --leader-elect-resource-name, or it creates the load balancers again", key)
	case err != nil:
		return fmt.Sprintf("cannot read Lease %s: %v", key, err)
	}
	// The identity is the name of the host or Pod, and a uid.
	pod, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	if pod == "" {
		return ""
	}
	return fmt.Sprintf("Pod %s holds Lease %s: a controller runs, and would create the load balancers again. Stop all its Pods, for "+
		"example with: kubectl scale deployment -n %s %s --replicas=0\nIf that Pod was killed, the Lease expires after %v",
		pod, key, key.Namespace, key.Name, l.Duration)
}

// notElected returns why the command never got the Lease. The context has ended.
func (l Lease) notElected(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holderInterval)
	defer cancel()
	if holder := l.Holder(ctx); holder != "" {
		return fmt.Errorf("nothing was released: %s", holder)
	}
	return errors.New("nothing was released: the command ended before it had the Lease; run it again")
}

// awaitLease reports who holds the Lease until the command has it.
type awaitLease struct {
	Lease
	elected <-chan struct{}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (awaitLease) NeedLeaderElection() bool { return false }

// Start implements manager.Runnable.
func (a awaitLease) Start(ctx context.Context) error {
	for last := ""; ; {
		select {
		case <-ctx.Done():
			return nil
		case <-a.elected:
			return nil
		case <-time.After(holderInterval):
		}
		holder := a.Holder(ctx)
		select {
		case <-a.elected: // this process may hold it by now
			return nil
		default:
		}
		if holder != "" && holder != last && ctx.Err() == nil {
			a.Note("Waiting: " + holder)
			last = holder
		}
	}
}
