// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/neutron"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// Survey is what all Services of the cluster have in the cloud, and what is there
// beside that.
type Survey struct {
	Services []SurveyedService `json:"services"`
	// Orphans bear the cluster's uid and that of no Service of it.
	Orphans []SurveyedObject `json:"orphans"`
	// Conflicts are objects that are in the way of a Service, or that others have
	// taken from it.
	Conflicts []Conflict `json:"conflicts"`
	// LeftPorts are ports that Octavia made for VIPs of load balancers that are not
	// there. Nothing says whose they were.
	LeftPorts []SurveyedObject `json:"leftPorts"`
}

// SurveyedService is one Service and its load balancer.
type SurveyedService struct {
	Namespace          string                `json:"namespace"`
	Name               string                `json:"name"`
	LoadBalancerID     string                `json:"loadBalancerID,omitempty"`
	ProvisioningStatus lb.ProvisioningStatus `json:"provisioningStatus,omitempty"`
	OperatingStatus    string                `json:"operatingStatus,omitempty"`
	// Address is the published one.
	Address string `json:"address,omitempty"`
	// Programmed is the condition's status, and Reason and Message are why.
	Programmed string `json:"programmed"`
	Reason     string `json:"reason,omitempty"`
	Message    string `json:"message,omitempty"`
}

// SurveyedObject is an object in the cloud that belongs to no Service.
type SurveyedObject struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	// Name is how people know it.
	Name string `json:"name,omitempty"`
	// ServiceUID is that of the Service that is gone, and InUse says why the object
	// is not deleted as it is.
	ServiceUID string `json:"serviceUID,omitempty"`
	InUse      string `json:"inUse,omitempty"`
}

// Conflict is an object, the Service that it concerns, and what is wrong.
type Conflict struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	ID        string `json:"id"`
	Message   string `json:"message"`
}

// cloudState is everything that a survey reads of the cloud.
type cloudState struct {
	balancers    []lb.LoadBalancer
	floatingIPs  []lb.FloatingIP
	certificates []lb.Certificate
	ports        []neutron.VIPPort
	groups       groupInventory
}

// Survey looks at all Services and at all that the project has in the cloud, with
// one call per thousand load balancers, floating IPs and ports of VIPs, and per hundred
// secrets. It writes nothing. Reader must be one that asks the API server.
func (p *Planner) Survey(ctx context.Context) (Survey, error) {
	var cloud cloudState
	var services corev1.ServiceList
	var err error
	// Ports come first: one that is made meanwhile is not taken for one that is left.
	if cloud.ports, err = p.Neutron.VIPPorts(ctx); err != nil {
		return Survey{}, err
	}
	if cloud.balancers, err = p.Octavia.All(ctx); err != nil {
		return Survey{}, err
	}
	if cloud.floatingIPs, err = p.Neutron.FloatingIPs(ctx); err != nil {
		return Survey{}, err
	}
	if p.Config.ManageSecurityGroups {
		if cloud.groups, err = p.seeGroups(ctx); err != nil {
			return Survey{}, err
		}
	}
	if cloud.certificates, err = p.certificates(ctx); err != nil {
		return Survey{}, err
	}
	owners, err := p.Owners(ctx, p.Reader)
	if err != nil {
		return Survey{}, err
	}
	if err := p.Reader.List(ctx, &services); err != nil {
		return Survey{}, fmt.Errorf("list Services: %w", err)
	}
	return p.survey(services.Items, owners, cloud), nil
}

// survey is Survey without the reading.
func (p *Planner) survey(services []corev1.Service, owners map[string]bool, cloud cloudState) Survey {
	all := Survey{Services: []SurveyedService{}, Orphans: p.orphansIn(cloud, owners), Conflicts: []Conflict{}, LeftPorts: leftPorts(cloud)}
	for i := range services {
		if s := &services[i]; p.Serves(s) || p.Leaves(s) {
			row, conflicts := p.surveyOne(s, cloud)
			all.Services = append(all.Services, row)
			all.Conflicts = append(all.Conflicts, conflicts...)
		}
	}
	slices.SortFunc(all.Services, func(a, b SurveyedService) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// orphansIn judges as the sweeper does, but for since when.
func (p *Planner) orphansIn(cloud cloudState, owners map[string]bool) []SurveyedObject {
	found := inventory{floatingIPs: cloud.floatingIPs, certificates: cloud.certificates, groups: cloud.groups}
	for _, l := range cloud.balancers {
		found.heads = append(found.heads, octavia.Head{ID: l.ID, ProvisioningStatus: l.ProvisioningStatus, Tags: l.Tags})
	}
	var marked []object
	for _, kind := range p.orphanKinds() {
		marked = append(marked, kind.marked(found, p.ClusterUID)...)
	}
	orphans := []SurveyedObject{}
	for _, o := range marked {
		if !owned(o, owners) {
			orphans = append(orphans, SurveyedObject{o.kind, o.id, o.name, o.serviceUID, o.inUse})
		}
	}
	return orphans
}

// leftPorts finds ports of load balancers that are not there.
func leftPorts(cloud cloudState) []SurveyedObject {
	left := []SurveyedObject{}
	for _, port := range cloud.ports {
		there := slices.ContainsFunc(cloud.balancers, func(l lb.LoadBalancer) bool {
			return l.ID == port.LoadBalancerID || l.VIP.PortID == port.ID
		})
		if !there && port.LoadBalancerID != "" {
			left = append(left, SurveyedObject{Kind: "port", ID: port.ID, Name: port.Name})
		}
	}
	return left
}

func (p *Planner) surveyOne(service *corev1.Service, cloud cloudState) (SurveyedService, []Conflict) {
	row := SurveyedService{Namespace: service.Namespace, Name: service.Name, Programmed: string(metav1.ConditionUnknown),
		LoadBalancerID: service.Annotations[annotation.LoadBalancerID]}
	if c := meta.FindStatusCondition(service.Status.Conditions, status.Programmed); c != nil {
		row.Programmed, row.Reason, row.Message = string(c.Status), c.Reason, c.Message
	}
	if published := service.Status.LoadBalancer.Ingress; len(published) > 0 {
		row.Address = published[0].IP
	}
	var conflicts []Conflict
	conflict := func(kind, id, message string) {
		conflicts = append(conflicts, Conflict{service.Namespace, service.Name, kind, id, message})
	}
	owner := p.Owner(service)
	var ports []string
	for _, l := range cloud.balancers {
		noted := l.ID == service.Annotations[annotation.LoadBalancerID]
		switch {
		case p.claims(service, owner, l, cloud.floatingIPs) && (noted || row.ProvisioningStatus == ""):
			row.LoadBalancerID, row.ProvisioningStatus, row.OperatingStatus = l.ID, l.ProvisioningStatus, l.OperatingStatus
			ports = append(ports, l.VIP.PortID)
		case p.claims(service, owner, l, cloud.floatingIPs):
			ports = append(ports, l.VIP.PortID)
		case noted && (p.uses(service, l) || owner.MayUse(l) && publishes(service, l, cloud.floatingIPs)):
			row.ProvisioningStatus, row.OperatingStatus = l.ProvisioningStatus, l.OperatingStatus // it shares that
		case noted || l.Name == owner.LoadBalancerName():
			conflict(diff.Object(diff.CreateLoadBalancer{}), l.ID,
				cmp.Or(owner.Claims(l).Reason, fmt.Sprintf("load balancer %s bears this Service's name, and nothing says that it is this Service's", l.ID)))
		}
	}
	for _, f := range cloud.floatingIPs {
		if owner.MadeFloatingIP(f) && f.PortID != "" && !slices.Contains(ports, f.PortID) {
			conflict(diff.Object(diff.CreateFloatingIP{}), f.ID, fmt.Sprintf(
				"floating IP %s was made for this Service and leads to port %s, which is not its load balancer's", f.Address, f.PortID))
		}
	}
	return row, conflicts
}
