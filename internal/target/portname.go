// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package target

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
)

// sliceController is the value of label endpointslice.kubernetes.io/managed-by on the slices of kube-controller-manager.
const sliceController = "endpointslice-controller.k8s.io"

// WithPortNames returns the slices of a Service with the names that its ports have now. When the name of a port changes, as
// when an only port gets its first name, kube-controller-manager writes the slices a moment later. Without endpoints for
// that moment, a pool would lose its members, and get them back only after Octavia has done that.
//
// A port of a slice is the renamed one if the Service has no port of its name, and one of its number and protocol that the
// slice lacks. Slices that others write stay as they are: in them any name may be a mistake. The slices are not changed,
// but copied where needed.
func WithPortNames(all []discoveryv1.EndpointSlice, ports []corev1.ServicePort) []discoveryv1.EndpointSlice {
	for i := range all {
		if all[i].Labels[discoveryv1.LabelManagedBy] != sliceController {
			continue
		}
		for j, old := range all[i].Ports {
			name, renamed := newName(all[i], old, ports)
			if !renamed {
				continue
			}
			all = slices.Clone(all)
			all[i].Ports = slices.Clone(all[i].Ports)
			all[i].Ports[j].Name = &name
		}
	}
	return all
}

// newName returns the name of the Service's port that a port of a slice was before, if that was renamed.
func newName(s discoveryv1.EndpointSlice, old discoveryv1.EndpointPort, ports []corev1.ServicePort) (name string, renamed bool) {
	if slices.ContainsFunc(ports, func(p corev1.ServicePort) bool { return p.Name == ptr.Deref(old.Name, "") }) {
		return "", false
	}
	protocol := ptr.Deref(old.Protocol, corev1.ProtocolTCP)
	i := slices.IndexFunc(ports, func(p corev1.ServicePort) bool {
		return p.TargetPort.Type == intstr.Int && p.TargetPort.IntVal == ptr.Deref(old.Port, 0) &&
			(p.Protocol == protocol || p.Protocol == "" && protocol == corev1.ProtocolTCP) && slicePort(&s, p) == 0
	})
	if i < 0 {
		return "", false
	}
	return ports[i].Name, true
}
