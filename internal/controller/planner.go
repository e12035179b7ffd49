// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// Planner has what it takes to find out what a Service is to have and what it
// has: everything of a pass that only reads. The controller and
// `kube-octavia plan` share it.
type Planner struct {
	// Reader reads Services, Nodes and EndpointSlices.
	Reader  client.Reader
	Octavia *octavia.Client
	Neutron *neutron.Client
	// Config holds the operator's settings for load balancers.
	Config       config.LoadBalancer
	Capabilities lb.Capabilities
	// ClusterName is --cluster-name, ClusterUID the uid of the kube-system
	// namespace.
	ClusterName, ClusterUID string
	// LoadBalancerClass is the spec.loadBalancerClass that is handled;
	// DefaultClass tells whether Services without a class are, too.
	LoadBalancerClass string
	DefaultClass      bool
}

// Owner returns the Service as the owner of objects in the cloud.
func (p *Planner) Owner(service *corev1.Service) lb.Owner {
	return lb.Owner{
		ClusterName: p.ClusterName,
		ClusterUID:  p.ClusterUID,
		Namespace:   service.Namespace,
		Name:        service.Name,
		ServiceUID:  string(service.UID),
	}
}

// Serves tells whether the Service is to have a load balancer from here: it is
// of type LoadBalancer, of our class, and not about to go.
func (p *Planner) Serves(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.DeletionTimestamp == nil && p.ours(service)
}

// ours tells whether the Service's class is one that is handled here.
func (p *Planner) ours(service *corev1.Service) bool {
	if class := service.Spec.LoadBalancerClass; class != nil {
		return *class == p.LoadBalancerClass
	}
	return p.DefaultClass
}

// input gathers what the Service's load balancer depends on, but for what has to
// be looked up in the cloud.
func (p *Planner) input(ctx context.Context, service *corev1.Service, observed lb.Observed) (build.Input, error) {
	in := build.Input{Service: service, Config: p.Config, Capabilities: p.Capabilities, Owner: p.Owner(service)}
	in.Networks = build.Networks{
		VIPSubnetID:       p.Config.SubnetID,
		VIPNetworkID:      p.Config.NetworkID,
		MemberSubnetID:    p.Config.MemberSubnetID,
		FloatingNetworkID: p.Config.FloatingNetworkID,
		FloatingSubnetID:  p.Config.FloatingSubnetID,
	}
	if l := observed.LoadBalancer; l != nil {
		// What is there decides, whatever the settings say by now.
		in.Networks.VIPSubnetID, in.Networks.VIPNetworkID = l.VIP.SubnetID, l.VIP.NetworkID
		if l.Provider != "" {
			in.Capabilities.Provider = l.Provider
		}
	}
	in.Networks.MemberSubnetID = cmp.Or(in.Networks.MemberSubnetID, in.Networks.VIPSubnetID)
	var nodes corev1.NodeList
	if err := p.Reader.List(ctx, &nodes); err != nil {
		return in, fmt.Errorf("list nodes: %w", err)
	}
	in.Nodes = nodes.Items
	if service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return in, nil
	}
	var endpoints discoveryv1.EndpointSliceList
	of := client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}
	if err := p.Reader.List(ctx, &endpoints, client.InNamespace(service.Namespace), of); err != nil {
		return in, fmt.Errorf("list EndpointSlices: %w", err)
	}
	in.Slices = endpoints.Items
	return in, nil
}

// build looks up what the operator's settings leave open, as far as something is
// still to be made there, and builds what is wanted.
func (p *Planner) build(ctx context.Context, in *build.Input, observed lb.Observed) (lb.Wanted, error) {
	n := &in.Networks
	if observed.LoadBalancer == nil && n.VIPSubnetID == "" && n.VIPNetworkID == "" {
		subnet, err := p.nodeSubnet(ctx, *in)
		if err != nil {
			return lb.Wanted{}, err
		}
		n.VIPSubnetID = subnet
		n.MemberSubnetID = cmp.Or(n.MemberSubnetID, subnet)
	}
	options, _ := annotation.Parse(in.Service.Annotations, p.Config)
	if n.FloatingNetworkID == "" && !options.Internal && !hasFloatingIP(observed) {
		network, err := p.Neutron.ExternalNetwork(ctx)
		if err != nil {
			return lb.Wanted{}, err
		}
		n.FloatingNetworkID = network
	}
	return build.Wanted(*in)
}

func hasFloatingIP(o lb.Observed) bool {
	return o.LoadBalancer != nil && slices.ContainsFunc(o.FloatingIPs, func(f lb.FloatingIP) bool {
		return f.PortID != "" && f.PortID == o.LoadBalancer.VIP.PortID
	})
}

// nodeSubnet is the subnet in which the nodes have their addresses, as told by
// the first of them by name.
func (p *Planner) nodeSubnet(ctx context.Context, in build.Input) (string, error) {
	family := corev1.IPv4Protocol
	if len(in.Service.Spec.IPFamilies) > 0 {
		family = in.Service.Spec.IPFamilies[0]
	}
	targets, _ := target.Nodes(in.Nodes, family)
	if len(targets) == 0 {
		return "", &build.Invalid{Reason: build.ReasonNoSubnet, Message: fmt.Sprintf(
			"there is no node with an InternalIP of family %s from which to tell the subnet of the VIP; set [LoadBalancer] subnet-id in cloud.conf", family)}
	}
	return p.Neutron.SubnetOfAddress(ctx, targets[0].Address.String())
}

// Observe reads what the Service has in the cloud. A load balancer that is not
// ACTIVE comes without its tree: it cannot be changed, and will be read again.
func (p *Planner) Observe(ctx context.Context, service *corev1.Service, owner lb.Owner) (lb.Observed, error) {
	var observed lb.Observed
	head, duplicates, unsettled, err := p.find(ctx, service, owner)
	if err != nil {
		return observed, err
	}
	observed.Duplicates, observed.Unsettled = duplicates, unsettled
	if head == nil || head.ProvisioningStatus == lb.PendingDelete {
		observed.LoadBalancer = head
		observed.FloatingIPs, err = p.publishedFloatingIP(ctx, service)
		return observed, err
	}
	if head.ProvisioningStatus == lb.Active {
		tree, err := p.Octavia.Observe(ctx, *head)
		if err != nil {
			return observed, err
		}
		head = &tree
	}
	observed.LoadBalancer = head
	if head.VIP.PortID != "" {
		observed.FloatingIPs, err = p.Neutron.FloatingIPsOn(ctx, head.VIP.PortID)
	}
	return observed, err
}

// publishedFloatingIP finds the floating IP of a load balancer that vanished,
// by the address that was published of it.
func (p *Planner) publishedFloatingIP(ctx context.Context, service *corev1.Service) ([]lb.FloatingIP, error) {
	address := service.Annotations[annotation.LoadBalancerAddress]
	if address == "" && len(service.Status.LoadBalancer.Ingress) > 0 {
		address = service.Status.LoadBalancer.Ingress[0].IP
	}
	if address == "" {
		return nil, nil
	}
	return p.Neutron.FloatingIPsWithAddress(ctx, address)
}

// find returns the Service's load balancer without its tree, or nil, and the
// ids of further ones of the same Service: those that can be deleted and those
// on which Octavia works. The lookup by name finds what this
// project and openstack-cloud-controller-manager make, also what a create made
// whose answer was lost; the id in the annotation finds what was renamed since.
func (p *Planner) find(ctx context.Context, service *corev1.Service, owner lb.Owner) (_ *lb.LoadBalancer, duplicates, unsettled []string, _ error) {
	named, err := p.Octavia.FindByName(ctx, owner.LoadBalancerName())
	if err != nil {
		return nil, nil, nil, err
	}
	ours := slices.DeleteFunc(named, func(l lb.LoadBalancer) bool { return !p.claims(service, owner, l) })
	id := strings.TrimSpace(service.Annotations[annotation.LoadBalancerID])
	if id != "" && !slices.ContainsFunc(ours, func(l lb.LoadBalancer) bool { return l.ID == id }) {
		noted, err := p.noted(ctx, id, service, owner)
		switch {
		case err == nil:
			ours = append(ours, noted...)
		case openstack.Classify(err) == openstack.Foreign && (len(ours) > 0 || !p.Serves(service)):
			// The annotation is wrong, and what is the Service's own is known
			// without it.
		default:
			return nil, nil, nil, err
		}
	}
	if len(ours) == 0 {
		return nil, nil, nil, nil
	}
	slices.SortFunc(ours, func(a, b lb.LoadBalancer) int { return preference(a, b, id) })
	for _, l := range ours[1:] {
		switch {
		case lb.ServiceUIDOf(l.Tags) != owner.ServiceUID:
		case l.ProvisioningStatus.Pending():
			unsettled = append(unsettled, l.ID)
		default:
			duplicates = append(duplicates, l.ID)
		}
	}
	return &ours[0], duplicates, unsettled, nil
}

// preference orders load balancers of one Service: one that is not on its way
// out before others, then the noted one; otherwise any choice that is made again
// alike will do.
func preference(a, b lb.LoadBalancer, noted string) int {
	rank := func(l lb.LoadBalancer) int {
		switch {
		case l.ProvisioningStatus == lb.PendingDelete:
			return 2
		case l.ID == noted:
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a.ID, b.ID))
}

// claims tells whether the load balancer is the Service's. One that bears no
// uid, which openstack-cloud-controller-manager makes, has to be known from the
// Service as well: another cluster's may have the same name and description.
// Where there are no tags there are no other marks than these.
func (p *Planner) claims(service *corev1.Service, owner lb.Owner, l lb.LoadBalancer) bool {
	claim := owner.Claims(l)
	if !claim.Ours || !claim.Adopted || !p.Capabilities.Has(lb.FeatureTags) {
		return claim.Ours
	}
	return service.Annotations[annotation.LoadBalancerID] == l.ID || len(service.Status.LoadBalancer.Ingress) > 0
}

// noted returns the load balancer with the id in the Service's annotation, if
// it still exists. One that is not the Service's is an error: sharing somebody
// else's load balancer is not what this version does.
func (p *Planner) noted(ctx context.Context, id string, service *corev1.Service, owner lb.Owner) ([]lb.LoadBalancer, error) {
	l, err := p.Octavia.Get(ctx, id)
	var cloud *openstack.Error
	reason := "it belongs to another project"
	switch {
	case openstack.Classify(err) == openstack.Gone:
		return nil, nil
	case err == nil && p.claims(service, owner, l):
		return []lb.LoadBalancer{l}, nil
	case err == nil:
		reason = cmp.Or(owner.Claims(l).Reason, "nothing says that it is this Service's")
	case !errors.As(err, &cloud) || cloud.Status != http.StatusForbidden:
		return nil, err
	}
	return nil, openstack.NewForeign(fmt.Sprintf("use load balancer %s of annotation %s", id, annotation.LoadBalancerID),
		reason+"; remove the annotation to get a load balancer of the Service's own")
}

// invalid returns the *build.Invalid in err, or nil.
func invalid(err error) *build.Invalid {
	var i *build.Invalid
	if errors.As(err, &i) {
		return i
	}
	return nil
}

// heads lists the load balancers of the cluster.
func (p *Planner) heads(ctx context.Context) ([]octavia.Head, error) {
	return p.Octavia.Heads(ctx, lb.ClusterTag(p.ClusterUID))
}

// Plan tells what there is to do for the Service, from a fresh look at the
// cloud, and what the cloud has.
func (p *Planner) Plan(ctx context.Context, service *corev1.Service) (diff.Plan, lb.Observed, error) {
	owner := p.Owner(service)
	observed, err := p.Observe(ctx, service, owner)
	if err != nil {
		return diff.Plan{}, observed, err
	}
	wanted := lb.Wanted{KeepFloatingIP: p.keepsFloatingIP(service)}
	var refused *build.Invalid
	if p.Serves(service) {
		in, err := p.input(ctx, service, observed)
		if err != nil {
			return diff.Plan{}, observed, err
		}
		wanted, err = p.build(ctx, &in, observed)
		if refused = invalid(err); refused == nil && err != nil {
			return diff.Plan{}, observed, err
		}
		if refused != nil {
			wanted = build.MembersOnly(in, observed)
		}
	}
	if want := wanted.FloatingIP; want != nil {
		if observed.FloatingIPs, err = p.requested(ctx, want.Address, observed); err != nil {
			return diff.Plan{}, observed, err
		}
	}
	plan := diff.New(wanted, observed, owner)
	if refused != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: refused.Reason, Message: refused.Message})
	}
	return plan, observed, nil
}

// requested returns the floating IPs that were observed, with what the cloud
// says now of the one with the requested address unless that is on the load
// balancer already.
func (p *Planner) requested(ctx context.Context, address string, observed lb.Observed) ([]lb.FloatingIP, error) {
	if address == "" {
		return observed.FloatingIPs, nil
	}
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	there := func(f lb.FloatingIP) bool { return f.Address == address }
	if i := slices.IndexFunc(observed.FloatingIPs, there); i >= 0 && port != "" && observed.FloatingIPs[i].PortID == port {
		return observed.FloatingIPs, nil
	}
	found, err := p.Neutron.FloatingIPsWithAddress(ctx, address)
	if err != nil {
		return nil, err
	}
	return append(slices.DeleteFunc(slices.Clone(observed.FloatingIPs), there), found...), nil
}

// Leaves tells whether the Service is not to be served any more and may still
// have something in the cloud. The finalizer alone does not tell: it is
// Kubernetes' own and controllers of other classes set it too. Our mark bears
// the Service's uid, so that one copied from another Service proves nothing.
func (p *Planner) Leaves(service *corev1.Service) bool {
	switch {
	case p.Serves(service) || !controllerutil.ContainsFinalizer(service, finalizer):
		return false
	case service.Annotations[managed] == string(service.UID):
		return true
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
		return p.ours(service)
	}
	// A Service of another type has lost its class. One that
	// openstack-cloud-controller-manager left bears the load balancer's id.
	return p.DefaultClass && service.Annotations[annotation.LoadBalancerID] != ""
}

// keepsFloatingIP reads the one annotation that matters at the end. A value that
// cannot be read keeps the address: it can still be deleted by hand, and could
// not be got back.
func (p *Planner) keepsFloatingIP(service *corev1.Service) bool {
	options, problems := annotation.Parse(service.Annotations, p.Config)
	unreadable := slices.ContainsFunc(problems, func(p annotation.Problem) bool {
		return p.Key == annotation.KeepFloatingIP
	})
	return options.KeepFloatingIP || unreadable
}

// listed tells whether heads holds the load balancer if it exists.
func (p *Planner) listed(l lb.LoadBalancer) bool {
	return !p.Capabilities.Has(lb.FeatureTags) || slices.Contains(l.Tags, lb.ClusterTag(p.ClusterUID))
}
