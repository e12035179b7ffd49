// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/kube-octavia/kube-octavia/test/deploy"
	"github.com/kube-octavia/kube-octavia/test/kube"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// identity is the user of the controller of every stage for kube-apiserver: the ServiceAccount of
// deploy/, with its roles only.
var identity struct {
	once  sync.Once
	token string
	err   error
}

// controllerToken returns a token of the controller's ServiceAccount. The first call installs
// deploy/ in the cluster.
func controllerToken(t testing.TB) string {
	t.Helper()
	cluster := kubetest.Cluster(t)
	identity.once.Do(func() {
		ctx := context.Background() // it is for all tests
		if identity.err = deploy.Install(ctx, cluster, "../../deploy"); identity.err == nil {
			identity.token, identity.err = deploy.Token(ctx, cluster)
		}
	})
	if identity.err != nil {
		t.Fatal(identity.err)
	}
	return identity.token
}

// asked returns the requests of the controller to kube-apiserver, of all tests so far.
func (s *stage) asked() []kube.Request {
	s.t.Helper()
	requests, err := kubetest.Cluster(s.t).Requests()
	if err != nil {
		s.t.Fatal(err)
	}
	return requests
}

// requireOnlyAllowedRequests fails the test if the controller asked kube-apiserver for what
// the roles in deploy/ do not allow.
func (s *stage) requireOnlyAllowedRequests() {
	s.t.Helper()
	unauthorized := map[string]int{}
	for _, r := range s.asked()[s.askedBefore:] {
		secret := r.Verb == "get" && r.Resource == "secrets" && r.Name == s.unreadable && s.unreadable != ""
		if r.Unauthorized && !secret && (s.withdrawn == "" || r.Group != s.withdrawn) {
			unauthorized[fmt.Sprintf("%s %s/%s of group %q in namespace %q", r.Verb, r.Resource, r.Subresource, r.Group, r.Namespace)]++
		}
	}
	if len(unauthorized) > 0 {
		s.t.Errorf("the controller lacks these rights, see deploy/clusterrole.yaml and deploy/role.yaml: %v", unauthorized)
	}
}
