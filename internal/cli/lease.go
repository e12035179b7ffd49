// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

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

// holderInterval is the time between two looks at the Lease while another process holds it.
const holderInterval = 2 * time.Second

// scaleDown scales the Deployment of --scale-down to 0.
func (d *drainRun) scaleDown(ctx context.Context) error {
	name := d.options.drain.deploymentName
	if name == "" {
		return nil
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.controller.namespace(), Name: name}}
	err := d.client.SubResource("scale").Patch(ctx, deployment, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":0}}`)),
		client.WithSubResourceBody(&autoscalingv1.Scale{}))
	if err != nil {
		return fmt.Errorf("scale Deployment %s/%s to 0 (--scale-down): %w", deployment.Namespace, name, err)
	}
	fmt.Fprintf(d.streams.Err, "Deployment %s/%s is scaled to 0.\n", deployment.Namespace, name)
	return nil
}

// holder says which process holds the controller's Lease, and what to do about it. It returns "" if none does.
func (d *drainRun) holder(ctx context.Context) string {
	var lease coordinationv1.Lease
	key := client.ObjectKey{Namespace: d.controller.namespace(), Name: d.controller.leaseName}
	switch err := d.client.Get(ctx, key, &lease); {
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
		pod, key, key.Namespace, key.Name, d.controller.leaseDuration)
}

// notElected says why the command never got the Lease. The context has ended.
func (d *drainRun) notElected(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holderInterval)
	defer cancel()
	if holder := d.holder(ctx); holder != "" {
		return fmt.Errorf("nothing was released: %s", holder)
	}
	return errors.New("nothing was released: the command ended before it had the Lease; run it again")
}

// awaitLease tells who holds the Lease, until the command has it.
type awaitLease struct {
	*drainRun
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
		holder := a.holder(ctx)
		select {
		case <-a.elected: // it may be this process by now
			return nil
		default:
		}
		if holder != "" && holder != last && ctx.Err() == nil {
			a.streams.Note("Waiting: " + holder)
			last = holder
		}
	}
}
