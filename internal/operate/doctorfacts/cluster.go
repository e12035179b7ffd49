// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctorfacts

import (
	"context"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
)

// callLimit is the time limit of each call to Kubernetes.
const callLimit = 30 * time.Second

// cluster reads facts from Kubernetes.
type cluster struct {
	source Source
	client client.Client // nil without a cluster
}

// read reads all facts, unless the API does not answer.
func (k *cluster) read(ctx context.Context) doctor.Cluster {
	version, err := k.connect(ctx)
	if err != nil {
		why := doctor.Missing{Kind: doctor.NotAsked, Reason: "the Kubernetes API cannot be used, see check " + string(doctor.Kubernetes)}
		first := missing(err)
		if k.source.NoCluster {
			why.Reason = "no cluster: set --kubeconfig or $KUBECONFIG to check one"
			first = why
		}
		all := doctor.Cluster{OwnLease: k.source.Lease}
		all.Version.Missing = first
		for _, m := range []*doctor.Missing{&all.User.Missing, &all.UID.Missing, &all.Services.Missing, &all.Nodes.Missing, &all.Refused.Missing, &all.OCCM.Missing, &all.Own.Missing,
			&all.Workloads.Missing, &all.Instances.Missing} {
			*m = why
		}
		return all
	}
	all := doctor.Cluster{Version: doctor.Value(version), OwnLease: k.source.Lease}
	inParallel(
		func() { all.UID = needed(read(k.source.Cluster.UID(ctx))) },
		func() {
			var services corev1.ServiceList
			err := k.explain(k.client.List(ctx, &services), "list Services")
			all.Services = needed(read(services.Items, err))
		},
		func() {
			var nodes corev1.NodeList
			err := k.explain(k.client.List(ctx, &nodes), "list nodes")
			all.Nodes = needed(read(nodes.Items, err))
		},
		func() {
			var me authenticationv1.SelfSubjectReview
			err := k.explain(k.client.Create(ctx, &me), "find out who the user is")
			all.User = read(me.Status.UserInfo.Username, err)
		},
		func() { all.Refused = k.refused(ctx) },
		func() { all.Own = k.ownLease(ctx) },
		func() { all.OCCM = readOthers(ctx, k, othercontroller.ReadOCCM) },
		func() { all.Workloads = readOthers(ctx, k, othercontroller.ReadWorkloads) },
		func() { all.Instances = readOthers(ctx, k, othercontroller.ReadInstances) },
	)
	return all
}

// connect reads the version of the API.
func (k *cluster) connect(ctx context.Context) (string, error) {
	if k.source.ClusterErr != nil {
		return "", k.source.ClusterErr
	}
	bounded := k.source.Cluster
	bounded.REST = rest.CopyConfig(bounded.REST)
	bounded.REST.Timeout = callLimit
	version, err := bounded.Version(ctx)
	if err != nil {
		return "", err
	}
	k.client, err = client.New(bounded.REST, client.Options{Scheme: clientgoscheme.Scheme})
	return version, bounded.Explain(err)
}

// explain adds to an error what was tried, and the API.
func (k *cluster) explain(err error, op string) error {
	if err == nil {
		return nil
	}
	return k.source.Cluster.Explain(fmt.Errorf("%s: %w", op, err))
}

// refused returns the rights of the controller that the user lacks. The reviews that it creates are not
// stored.
func (k *cluster) refused(ctx context.Context) doctor.Read[[]doctor.Right] {
	all := doctor.Rights(k.source.Controllers, k.source.Lease.Name)
	lacks, errs, ask := make([]bool, len(all)), make([]error, len(all)), []func(){}
	for i, right := range all {
		ask = append(ask, func() { lacks[i], errs[i] = k.lacks(ctx, right) })
	}
	inParallel(ask...)
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return read[[]doctor.Right](nil, k.explain(errs[i], "read the rights of the user"))
	}
	refused := []doctor.Right{}
	for i, right := range all {
		if lacks[i] {
			refused = append(refused, right)
		}
	}
	return doctor.Value(refused)
}

func (k *cluster) lacks(ctx context.Context, r doctor.Right) (bool, error) {
	asked := authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: r.Verb, Group: r.Group, Resource: r.Resource, Subresource: r.Subresource, Name: r.Name},
	}}
	if r.InLeaseNamespace {
		asked.Spec.ResourceAttributes.Namespace = k.source.Lease.Namespace
	}
	err := k.client.Create(ctx, &asked)
	return !asked.Status.Allowed, err
}

// ownLease reads the Lease of the controller, nil if there is none.
func (k *cluster) ownLease(ctx context.Context) doctor.Read[*othercontroller.Lease] {
	var l coordinationv1.Lease
	err := k.client.Get(ctx, client.ObjectKey(k.source.Lease), &l)
	if apierrors.IsNotFound(err) {
		return doctor.Value[*othercontroller.Lease](nil)
	}
	if err != nil {
		return read[*othercontroller.Lease](nil, k.explain(err, "read Lease "+k.source.Lease.String()))
	}
	found := othercontroller.NewLease(&l)
	return doctor.Value(&found)
}

// needed records that the controller needs the right to read the fact.
func needed[T any](r doctor.Read[T]) doctor.Read[T] {
	if r.Kind == doctor.Denied {
		r.Need = "The controller needs the right, too."
	}
	return r
}

// readOthers reads a fact about other controllers.
func readOthers[T any](ctx context.Context, k *cluster, from func(context.Context, client.Reader) (T, error)) doctor.Read[T] {
	value, err := from(ctx, k.client)
	r := read(value, k.source.Cluster.Explain(err))
	if r.Kind == doctor.Denied {
		r.Need = "The controller works without the right, but does not find other controllers of the same Services."
	}
	return r
}
