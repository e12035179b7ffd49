// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// setFamilies sets the policy that is the first word of Value, and the families that are the others. With the policy alone the
// families follow from it.
func setFamilies(_ *stage, v *corev1.Service, a action) error {
	words := strings.Fields(a.Value)
	v.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicy(words[0]))
	if len(words) > 1 {
		v.Spec.IPFamilies = nil
	}
	for _, word := range words[1:] {
		v.Spec.IPFamilies = append(v.Spec.IPFamilies, corev1.IPFamily(word))
	}
	return nil
}

// requestOfVIPs returns everything in a Service that decides about the families and the subnets of the VIPs of a new
// load balancer.
func requestOfVIPs(v *corev1.Service) string {
	return fmt.Sprint(v.Spec.IPFamilies, ptr.Deref(v.Spec.IPFamilyPolicy, ""), v.Spec.LoadBalancerSourceRanges, v.Annotations[sourcesKey],
		v.Annotations[annotation.SubnetID], v.Annotations[annotation.AdditionalSubnetID], v.Annotations[annotation.NetworkID], v.Annotations[annotation.PortID])
}

// movedServices returns the Services that have requested other VIPs since they were created.
func (s *stage) movedServices() (names []string, _ error) {
	services, err := s.client.CoreV1().Services("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, v := range services.Items {
		if s.moved[v.UID] {
			names = append(names, v.Namespace+"/"+v.Name)
		}
	}
	return names, nil
}

// singleStack returns what the requests are when Services with both families request the first one
// only.
func (r requests) singleStack() requests {
	single := r
	single.services = nil
	for _, v := range r.services {
		v = v.DeepCopy()
		if len(v.Spec.IPFamilies) > 1 {
			v.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
			v.Spec.IPFamilies, v.Spec.ClusterIPs = v.Spec.IPFamilies[:1], v.Spec.ClusterIPs[:1]
		}
		single.services = append(single.services, v)
	}
	return single
}

var (
	vipSubnet = regexp.MustCompile(`"vip_subnet_id":"[^"]*"`)
	// placement is what a load balancer has from its creation on, and keeps.
	placement = regexp.MustCompile(`"(flavor_id|availability_zone)":("[^"]*"|null)`)
	// givenPort is the Neutron port that a Service requests for its VIP.
	givenPort      = regexp.MustCompile(` at port \$port-\S+`)
	additionalVIPs = regexp.MustCompile(`"additional_vips":\[[^\]]*\]`)
	// toldOnly are the conditions of a Service that is served, but not with the VIPs that it requests.
	toldOnly = regexp.MustCompile(`kube-octavia\.io/(Accepted=.*|Programmed=(True Programmed|False NotAccepted))`)
	// openToAll are source ranges that allow every client. With VIPs of both families there are none.
	openToAll = regexp.MustCompile(`"allowed_cidrs":(null|\["0\.0\.0\.0/0"\]|\["::/0"\])`)
)

// ofCloudConf is the subnet of a VIP for which none is requested.
const ofCloudConf = `"vip_subnet_id":"$subnet"`

// kept returns those of the Services whose load balancers are not as new ones would be, because Octavia cannot change
// them: the Service is served as well as it can be, or refused, until a user deletes it and creates it again. In the
// end of a walk that is done, and it is compared as any other.
//
//   - A Service that has requested other VIPs, among those that moved: Octavia cannot add a VIP to a load balancer, or remove one
//     (docs/service-authors.md, IPv6 and dual-stack).
//   - A Service that requests another flavor or availability zone and gives a port, which its load balancer has: no replacement can
//     be created at the same port (docs/service-authors.md, Replace what Octavia cannot change).
func (p picture) kept(want picture, moved []string) (names []string) {
	for line, now := range p {
		name, found := strings.CutPrefix(line, "load balancer of <")
		name, whole := strings.CutSuffix(name, ">")
		wanted, there := want[line]
		if !found || !whole || !there {
			continue
		}
		otherVIPs := vipSubnet.FindString(now) != vipSubnet.FindString(wanted) || additionalVIPs.FindString(now) != additionalVIPs.FindString(wanted)
		if otherVIPs && slices.Contains(moved, name) || p.cannotBeReplaced(name, now, wanted) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// cannotBeReplaced reports whether the Service is refused because a replacement for its load balancer would need the same port.
func (p picture) cannotBeReplaced(name, now, wanted string) bool {
	port := givenPort.FindString(now)
	return port != "" && port == givenPort.FindString(wanted) &&
		!slices.Equal(placement.FindAllString(now, -1), placement.FindAllString(wanted, -1)) &&
		strings.Contains(p["Service "+name], "Accepted=False "+desired.ReasonRequiresReplacement)
}

// adapted returns the picture, and the one that is wanted, for Services that keep other VIPs. Each must say so in its
// condition Accepted, or its load balancer stays in a subnet that is not requested any more.
//
// One that is served by the first family only must be as one that requests no more: single is the picture of that. One whose load
// balancer has a VIP too many must be as wanted but for this VIP. Of both, the conditions that tell so are not compared. Any other is
// refused and left out, as is one that stays where no subnet is requested any more.
func (p picture) adapted(want, single picture, kept []string) (now, wanted picture) {
	now, wanted = maps.Clone(p), maps.Clone(want)
	for _, name := range kept {
		balancer, service := "load balancer of <"+name+">", "Service "+name
		lacks := strings.Contains(p[service], "Accepted=False "+desired.ReasonSingleStackLoadBalancer)
		if lacks {
			maps.DeleteFunc(wanted, func(line, text string) bool { return about(name, line, text) })
			for line, text := range single {
				if about(name, line, text) {
					wanted[line] = text
				}
			}
		}
		told := lacks || strings.Contains(p[service], "Accepted=False "+desired.ReasonAdditionalVIPKept)
		is, would := vipSubnet.FindString(now[balancer]), vipSubnet.FindString(wanted[balancer])
		switch {
		case told && is == would:
			for _, one := range []picture{now, wanted} {
				one[service] = toldOnly.ReplaceAllString(one[service], "")
				for line, text := range one {
					if strings.HasPrefix(line, balancer) {
						one[line] = openToAll.ReplaceAllString(additionalVIPs.ReplaceAllString(text, ""), "")
					}
				}
			}
		case is != would && would == ofCloudConf, strings.Contains(p[service], "Accepted=False"):
			now, wanted = now.without([]string{name}), wanted.without([]string{name})
		}
	}
	return now, wanted
}

// createAgain deletes Services and creates them again.
func (s *stage) createAgain(services []string) error {
	fmt.Fprintf(s.process, "--- created again, for other VIPs: %v\n", services)
	for _, on := range services {
		old, err := s.service(on)
		if err != nil {
			return err
		}
		if err := s.deleteService(action{On: on}); err != nil {
			return err
		}
		if err := s.waitFor(s.pace.patience, func() error {
			_, err := s.client.CoreV1().Services(old.Namespace).Create(s.ctx, asNew(old), metav1.CreateOptions{})
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}
