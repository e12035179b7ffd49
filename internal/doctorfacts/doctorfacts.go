// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctorfacts reads the facts for package doctor, from OpenStack and Kubernetes. It writes nothing, and decides
// nothing. It may import diagnosis, doctor, kubeconfig, othercontrollerfacts and the packages that call OpenStack.
package doctorfacts

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/diagnosis"
	"github.com/kube-octavia/kube-octavia/internal/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/othercontroller"
)

// Source says where the facts are.
type Source struct {
	// ConfigPath is the path of cloud.conf, and Config what was read there.
	ConfigPath string
	Config     config.Config
	ConfigErr  error
	// Login logs in to the cloud.
	Login func(context.Context) (*openstack.Session, error)
	// Cluster is the cluster of Kubernetes. ClusterErr says why there is none, and NoCluster means that nothing names one.
	Cluster    kubeconfig.Cluster
	ClusterErr error
	NoCluster  bool
	// Policy says which Services the controller handles. It lacks the uid of the cluster.
	Policy claim.Policy
	// Controllers are those that the controller runs.
	Controllers diagnosis.Controllers
	// Lease is that of the controller.
	Lease othercontroller.LeaseName
}

// Gather reads the facts. What cannot be read is noted in them.
func Gather(ctx context.Context, s Source) diagnosis.Facts {
	f := diagnosis.Facts{Now: time.Now(), ConfigPath: s.ConfigPath, Config: read(s.Config, s.ConfigErr), Policy: s.Policy, Controllers: s.Controllers}
	cloud, cluster := &cloud{config: s.Config}, &cluster{source: s}
	inParallel(
		func() { f.Cloud = cloud.read(ctx, s) },
		func() { f.Cluster = cluster.read(ctx) },
	)
	defer cloud.close()
	f.Policy.ClusterUID = f.Cluster.UID.Value
	if cloud.session != nil {
		cloud.readMore(ctx, &f, cluster)
	}
	f.Now = time.Now()
	return f
}

// inParallel calls the functions and returns when all have ended.
func inParallel(all ...func()) {
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(one)
	}
	running.Wait()
}

// read returns the result of a call as a fact.
func read[T any](value T, err error) diagnosis.Read[T] {
	if err != nil {
		return diagnosis.Read[T]{Missing: missing(err)}
	}
	return diagnosis.Value(value)
}

// missing says why a call had no result. A service rejects a login that Keystone has just accepted if its access rules do
// not allow the call.
func missing(err error) diagnosis.Missing {
	var answer *openstack.Error
	switch isAnswer := errors.As(err, &answer); {
	case isAnswer && answer.Status == http.StatusUnauthorized:
		return diagnosis.Missing{Kind: diagnosis.Denied, Reason: answer.Op + ": 401: Keystone accepts the login, but this service rejects it: its access rules do not allow the call"}
	case isAnswer && answer.Status == http.StatusForbidden, apierrors.IsForbidden(err):
		return diagnosis.Missing{Kind: diagnosis.Denied, Reason: err.Error()}
	}
	return diagnosis.Missing{Kind: diagnosis.Failed, Reason: err.Error()}
}

// notAsked returns a fact that nobody was asked for.
func notAsked[T any](reason string) diagnosis.Read[T] {
	return diagnosis.Read[T]{Missing: diagnosis.Missing{Kind: diagnosis.NotAsked, Reason: reason}}
}
