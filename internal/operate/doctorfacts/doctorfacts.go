// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doctorfacts reads the facts for package doctor from OpenStack and Kubernetes. It writes nothing and makes no
// decisions.
package doctorfacts

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Source is the source of the facts.
type Source struct {
	// ConfigPath is the path of cloud.conf or, depending on its origin, what replaces it, and Config its content.
	ConfigPath   string
	ConfigOrigin config.Origin
	Config       config.Config
	ConfigErr    error
	// Login logs in to the cloud.
	Login func(context.Context) (*openstack.Session, error)
	// Cluster is the Kubernetes cluster. ClusterErr is the reason if there is none, and NoCluster means that none is
	// configured.
	Cluster    kubeconfig.Cluster
	ClusterErr error
	NoCluster  bool
	// Policy selects the Services that the controller handles. It lacks the uid of the cluster.
	Policy claim.Policy
	// Controllers are the controllers of --controllers.
	Controllers doctor.Controllers
	// Lease is the Lease of the controller.
	Lease othercontroller.LeaseName
}

// Gather reads the facts. They also record what cannot be read.
func Gather(ctx context.Context, s Source) doctor.Facts {
	f := doctor.Facts{Now: time.Now(), ConfigPath: s.ConfigPath, ConfigOrigin: s.ConfigOrigin, Config: read(s.Config, s.ConfigErr), ConfigProblems: problems(s.ConfigErr),
		Policy: s.Policy, Controllers: s.Controllers}
	if s.ConfigOrigin == config.FromFile {
		f.ConfigMode = mode(s.ConfigPath)
	}
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
func read[T any](value T, err error) doctor.Read[T] {
	if err != nil {
		return doctor.Read[T]{Missing: missing(err)}
	}
	return doctor.Value(value)
}

// problems returns the reasons why cloud.conf cannot be used.
func problems(err error) (all []doctor.Problem) {
	if err == nil {
		return nil
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		for _, one := range several.Unwrap() {
			all = append(all, problems(one)...)
		}
		return all
	}
	do := "Correct what the message names. All keys are in docs/reference/cloud-conf.md."
	switch {
	case errors.Is(err, fs.ErrNotExist):
		do = "Create the file, or correct the path that names it. In a Pod, it must be in a volume: `kubectl describe pod` shows the volumes."
	case errors.Is(err, fs.ErrPermission):
		do = "Allow the user of this program to read the file: in a Pod by defaultMode of the volume or fsGroup of the Pod, elsewhere by `chown` or `chmod`."
	case errors.As(err, new(*fs.PathError)):
		do = "Correct the path: it must be that of a readable file."
	}
	for line := range strings.Lines(err.Error()) {
		all = append(all, doctor.Problem{What: strings.TrimSpace(line), Do: do})
	}
	return all
}

// mode returns the permissions of a file, or 0 if they are unknown.
func mode(path string) fs.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Mode().Perm()
}

// missing returns why a call had no result, and what to do about the cause.
func missing(err error) doctor.Missing {
	var cloud *openstack.Error
	var cluster *kubeconfig.Error
	switch {
	case errors.As(err, &cluster):
		m := doctor.Missing{Kind: doctor.Failed, Reason: cluster.Fact, Advice: cluster.Advice}
		if apierrors.IsForbidden(err) {
			m.Kind = doctor.Denied
		}
		return m
	case errors.As(err, &cloud):
		m := doctor.Missing{Kind: doctor.Failed, Reason: cloud.Fact(), Advice: openstack.Advice(err)}
		if openstack.Denied(err) {
			m.Kind, m.Need = doctor.Denied, needOf(cloud)
		}
		return m
	}
	return doctor.Missing{Kind: doctor.Failed, Reason: err.Error()}
}

// needOf returns whether the controller makes the denied call.
func needOf(err *openstack.Error) string {
	call, known := err.Call()
	switch feature := call.Feature; {
	case !known, !feature.OfController():
		return "The controller does not need the right."
	case feature == calls.FeatureSession:
		return "The controller works without the right."
	case feature == calls.FeatureCertificates, feature == calls.FeatureCertificateGrants:
		return "The controller needs the right for certificates of Services."
	case feature == calls.FeatureVIPGroups:
		return "The controller needs the right for security groups of VIPs, and with manage-security-groups = true."
	case feature == calls.FeatureSecurityGroups:
		return "The controller needs the right with manage-security-groups = true."
	case feature == calls.FeatureNodes, feature == calls.FeatureRoutes:
		return "The controller needs the right with --controllers=" + feature.Name() + "."
	}
	return "The controller needs the right, too."
}

// notAsked returns a fact for which no call was made.
func notAsked[T any](reason string) doctor.Read[T] {
	return doctor.Read[T]{Missing: doctor.Missing{Kind: doctor.NotAsked, Reason: reason}}
}
