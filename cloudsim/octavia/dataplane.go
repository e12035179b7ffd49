// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "github.com/kube-octavia/kube-octavia/cloudsim/dataplane"

// DataPlane returns what the data plane is to do for a load balancer; false if
// it is not there or has never been ACTIVE. Addresses holds the VIPs only.
// Children that are being created are left out, those being deleted still in.
func (s *Service) DataPlane(loadBalancerID string) (dataplane.LoadBalancer, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	lb := s.lbs[parseID(loadBalancerID)]
	if lb == nil || !lb.built {
		return dataplane.LoadBalancer{}, false
	}
	return dataPlane(lb), true
}
