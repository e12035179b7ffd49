// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
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
// A port of a slice is the renamed one if the Service has no port of its name, and one that the slice lacks: of its number, or,
// where the Service refers to the Pods' name of the port, the only one. Slices that others write stay as they are: in them
// any name may be a mistake. The slices are not changed, but copied where needed.
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
	unknown := func(p discoveryv1.EndpointPort) bool {
		return !slices.ContainsFunc(ports, func(of corev1.ServicePort) bool { return of.Name == ptr.Deref(p.Name, "") })
	}
	if !unknown(old) {
		return "", false
	}
	var byName []corev1.ServicePort
	for _, p := range ports {
		switch {
		case cmp.Or(p.Protocol, corev1.ProtocolTCP) != ptr.Deref(old.Protocol, corev1.ProtocolTCP), slicePort(&s, p) != 0:
		case p.TargetPort.Type == intstr.String:
			byName = append(byName, p)
		case p.TargetPort.IntVal == ptr.Deref(old.Port, 0):
			return p.Name, true
		}
	}
	others := slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool {
		return unknown(p) && ptr.Deref(p.Name, "") != ptr.Deref(old.Name, "")
	})
	if len(byName) != 1 || others {
		return "", false
	}
	return byName[0].Name, true
}
