// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// two are the metrics of two Services that are programmed.
const two = `
# HELP kube_octavia_services Services of this controller, by reason of condition Programmed; NotProcessed without the condition.
# TYPE kube_octavia_services gauge
kube_octavia_services{reason="Creating"} 0
kube_octavia_services{reason="Deleting"} 0
kube_octavia_services{reason="NotAccepted"} 0
kube_octavia_services{reason="NotProcessed"} 0
kube_octavia_services{reason="Programmed"} 2
kube_octavia_services{reason="Updating"} 0
# HELP kube_octavia_services_serving Services of this controller, by reason of condition Serving; NotProcessed without the condition.
# TYPE kube_octavia_services_serving gauge
kube_octavia_services_serving{reason="AllMembersDown"} 0
kube_octavia_services_serving{reason="HealthUnknown"} 0
kube_octavia_services_serving{reason="NoEndpoints"} 0
kube_octavia_services_serving{reason="NoMembers"} 1
kube_octavia_services_serving{reason="NotMonitored"} 0
kube_octavia_services_serving{reason="NotProcessed"} 1
kube_octavia_services_serving{reason="NotProgrammed"} 0
kube_octavia_services_serving{reason="Serving"} 0
kube_octavia_services_serving{reason="SomeMembersDown"} 0
`

// listing is a cache with these Services, or that cannot be read.
type listing struct {
	client.Reader
	services []corev1.Service
	failure  error
}

// List implements client.Reader.
func (l listing) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*corev1.ServiceList).Items = l.services
	return l.failure
}

func TestOnlyTheActiveReplicaCountsItsServices(t *testing.T) {
	balancer := func(name, class, reason string) corev1.Service {
		v := corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerClass: &class}}
		v.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionTrue, Reason: reason}}
		return v
	}
	all := []corev1.Service{balancer("a", "ours", status.ReasonProgrammed), balancer("b", "ours", status.ReasonProgrammed), balancer("c", "other", status.ReasonProgrammed), {}}
	all[0].Status.Conditions = append(all[0].Status.Conditions, metav1.Condition{Type: status.Serving, Status: metav1.ConditionFalse, Reason: status.ReasonNoMembers})
	elected := make(chan struct{})
	close(elected)
	for name, test := range map[string]struct {
		elected <-chan struct{}
		failure error
		want    string
	}{
		"active":                   {elected: elected, want: two},
		"on standby":               {elected: make(chan struct{})},
		"the cache cannot be read": {elected: elected, failure: errors.New("not filled")},
	} {
		t.Run(name, func(t *testing.T) {
			counted := services{reader: listing{services: all, failure: test.failure}, policy: claim.Policy{LoadBalancerClass: "ours"}, elected: test.elected, log: logr.Discard()}
			if err := testutil.CollectAndCompare(counted, strings.NewReader(test.want), "kube_octavia_services", "kube_octavia_services_serving"); err != nil {
				t.Error(err)
			}
		})
	}
}
