// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Kubernetes changes the EndpointSlices only after the Service.
func TestEndpointsOfAPortStayWhenItsNameChanges(t *testing.T) {
	http := corev1.ServicePort{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}
	named, namedToo := http, http
	named.TargetPort, namedToo.TargetPort, namedToo.Name = intstr.FromString("http"), intstr.FromString("https"), "https"
	ofKubernetes := func(s discoveryv1.EndpointSlice) discoveryv1.EndpointSlice {
		s.Labels = map[string]string{discoveryv1.LabelManagedBy: sliceController}
		return s
	}
	pod, stays := podEndpoint("a", "10.1.0.1"), []string{"10.1.0.1:8080 a"}
	https := corev1.ServicePort{Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8443)}
	metrics := corev1.ServicePort{Name: "metrics", Port: 9090, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(8080)}
	for name, c := range map[string]struct {
		slice discoveryv1.EndpointSlice
		ports []corev1.ServicePort
		want  []string
	}{
		"an only port gets a name, because there is another port now": {ofKubernetes(endpointSlice("", 8080, pod)), []corev1.ServicePort{https, http}, stays},
		"a name changes":                     {ofKubernetes(endpointSlice("web", 8080, pod)), []corev1.ServicePort{http}, stays},
		"not if the number is another":       {ofKubernetes(endpointSlice("web", 9090, pod)), []corev1.ServicePort{http}, []string{}},
		"the number is that of Pods":         {ofKubernetes(endpointSlice("web", 8080, pod)), []corev1.ServicePort{https, named}, stays},
		"not if that can be two ports":       {ofKubernetes(endpointSlice("web", 8080, pod)), []corev1.ServicePort{namedToo, named}, []string{}},
		"not the port of another name":       {ofKubernetes(endpointSlice("metrics", 8080, pod)), []corev1.ServicePort{metrics, http}, []string{}},
		"not in a slice that a person wrote": {endpointSlice("web", 8080, pod), []corev1.ServicePort{http}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			all := []discoveryv1.EndpointSlice{c.slice}
			before := all[0].DeepCopy()
			port := c.ports[len(c.ports)-1]
			if diff := cmp.Diff(c.want, endpointTexts(Endpoints(WithPortNames(all, c.ports), port, nil))); diff != "" {
				t.Errorf("endpoints of port %s (-want +got):\n%s", port.Name, diff)
			}
			if diff := cmp.Diff(*before, all[0]); diff != "" {
				t.Errorf("the slice was changed (-before +after):\n%s", diff)
			}
		})
	}
}
