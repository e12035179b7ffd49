// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctorfacts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/tokens"

	"github.com/kube-octavia/kube-octavia/internal/cloud/accessrule"
	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/catalogue"
	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/paging"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// cloud reads facts from OpenStack.
type cloud struct {
	config      config.Config
	session     *openstack.Session // nil without a login
	floatingIPs doctor.Read[[]lb.FloatingIP]
}

func (c *cloud) close() {
	if c.session != nil {
		c.session.Close()
	}
}

// read logs in and reads the facts that do not depend on others.
func (c *cloud) read(ctx context.Context, s Source) doctor.Cloud {
	if s.ConfigErr != nil {
		return unread(notAsked[doctor.Login]("cloud.conf cannot be used").Missing)
	}
	before := time.Now()
	session, err := s.Login(ctx)
	if err != nil {
		all := unread(doctor.Missing{Kind: doctor.NotAsked, Reason: "no login"})
		all.Login.Missing = missing(err)
		all.Login.Kind = doctor.Failed
		all.NoService = lacks(err)
		all.NoRegion = errors.Is(err, openstack.ErrNoRegion)
		return all
	}
	c.session = session
	took := time.Since(before)
	all := doctor.Cloud{}
	inParallel(
		func() {
			all.Login = doctor.Value(c.login(ctx, before.Add(took/2), took/2+time.Second, s.Controllers))
		},
		func() {
			var v lb.Version
			v.Major, v.Minor, err = session.OctaviaVersion(ctx)
			all.APIVersion = read(v, err)
		},
		func() { c.readOctavia(ctx, &all.Octavia) },
		func() { c.readNetwork(ctx, &all.Network, s.Controllers) },
		func() { all.Servers = c.servers(ctx, s.Controllers) },
		func() { c.readPodRouter(ctx, &all.Network, s.Controllers) },
		func() {
			found, err := neutron.New(session.Network(), session.ProjectID()).FloatingIPs(ctx)
			c.floatingIPs = read(found, err)
		},
	)
	return all
}

// lacks returns the services that the service catalogue lacks according to the error.
func lacks(err error) (all []doctor.Problem) {
	switch tree := err.(type) {
	case *catalogue.Lack:
		return []doctor.Problem{{What: tree.Fact, Do: tree.Advice}}
	case interface{ Unwrap() []error }:
		for _, one := range tree.Unwrap() {
			all = append(all, lacks(one)...)
		}
	case interface{ Unwrap() error }:
		return lacks(tree.Unwrap())
	}
	return all
}

// unread returns facts that are all missing for one reason.
func unread(why doctor.Missing) (all doctor.Cloud) {
	n, o := &all.Network, &all.Octavia
	for _, m := range []*doctor.Missing{
		&all.Login.Missing, &all.APIVersion.Missing, &all.Orphans.Missing, &all.Servers.Missing,
		&n.Networks.Missing, &n.Subnets.Missing, &n.Ports.Missing, &n.InVIPNetworks.Missing, &n.Routers.Missing, &n.Groups.Missing,
		&n.Availability.Missing, &n.Quota.Missing, &n.PodRouter.Missing, &n.AtomicRoutes.Missing,
		&o.Providers.Missing, &o.Flavors.Missing, &o.Zones.Missing, &o.Quota.Missing, &o.Balancers.Missing,
	} {
		*m = why
	}
	return all
}

// login describes the login. at is when the token was requested, accurate to uncertainty.
func (c *cloud) login(ctx context.Context, at time.Time, uncertainty time.Duration, controllers doctor.Controllers) doctor.Login {
	s := c.session
	l := doctor.Login{ProjectID: s.ProjectID(), Roles: s.Roles(), CloudTime: tokenDate(s.Network().GetAuthResult()), LocalTime: at, Uncertainty: uncertainty}
	var err error
	l.Expires, l.Kind, err = s.Expiry(ctx)
	if err != nil {
		l.ExpiryUnknown = err.Error()
	}
	missing := s.MissingRules()
	without, others := accessrule.Without(missing)
	l.Without, l.MissingRules, l.MissingOnRequest = without, texts(others), map[calls.Feature][]string{}
	for _, feature := range calls.OnRequest() {
		l.MissingOnRequest[feature] = texts(accessrule.Of(feature, missing))
	}
	l.Endpoints = []doctor.Endpoint{
		{Service: calls.ServiceLoadBalancer, URL: s.LoadBalancer().Endpoint},
		{Service: calls.ServiceNetwork, URL: s.Network().Endpoint},
		{Service: calls.ServiceKeyManager},
	}
	if manager := s.KeyManager(); manager != nil {
		l.Endpoints[2].URL = manager.Endpoint
	}
	if controllers.Nodes() {
		nova := doctor.Endpoint{Service: calls.ServiceCompute}
		if compute, err := s.Compute(instances.Microversion); err == nil {
			nova.URL = compute.Endpoint
		}
		l.Endpoints = append(l.Endpoints, nova)
	}
	return l
}

// texts returns the calls as texts.
func texts(list []calls.Call) (all []string) {
	for _, call := range list {
		all = append(all, call.String())
	}
	return all
}

// tokenDate returns Keystone's time when it issued the token, in whole seconds, or zero if the answer had no Date
// header.
func tokenDate(answer gophercloud.AuthResult) time.Time {
	var header http.Header
	switch result := answer.(type) {
	case tokens.CreateResult:
		header = result.Header
	case tokens.GetResult:
		header = result.Header
	}
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	return date
}

// list reads all pages of a list.
func list[T any](ctx context.Context, service *gophercloud.ServiceClient, path string, query url.Values) doctor.Read[[]T] {
	query.Set("limit", strconv.Itoa(paging.Size))
	return read(paging.List[T](ctx, service, "list "+path, path, query))
}

func (c *cloud) readOctavia(ctx context.Context, o *doctor.Octavia) {
	service, project := c.session.LoadBalancer(), c.session.ProjectID()
	inParallel(
		func() {
			o.Providers = read(c.session.Providers(ctx))
			if o.Providers.OK() && o.Providers.Value == nil {
				o.Providers.Missing = doctor.Missing{Kind: doctor.Denied, Reason: "the access rules of the application credential do not allow listing the providers",
					Need: "The controller works without the right, but cannot detect that a provider does not exist.", Advice: "replace the application credential with `kube-octavia credential rotate`"}
			}
		},
		func() {
			quota, err := octavia.New(service, project, lb.Capabilities{}).Quota(ctx)
			o.Quota = read(map[string]int(quota), err)
		},
		func() {
			found, err := octavia.New(service, project, lb.Capabilities{}).Listed(ctx)
			o.Balancers = read(balancers(found), err)
		},
	)
}

// getList reads a list that has no pages, and whose objects may have no id.
func getList[T any](ctx context.Context, service *gophercloud.ServiceClient, op, path, key string) ([]T, error) {
	var answer decoding.Entries[[]T]
	if _, err := service.Get(ctx, service.ServiceURL(path), decoding.Into(&answer), nil); err != nil {
		return nil, openstack.Wrap(op, err)
	}
	if answer[key] == nil {
		return nil, openstack.Unreadable(op, "no list of "+key)
	}
	return answer[key], nil
}

func balancers(listed []octavia.Listed) []doctor.Balancer {
	all := []doctor.Balancer{}
	for _, l := range listed {
		b := doctor.Balancer{LoadBalancer: l.Bare}
		for _, members := range l.Members {
			b.Members += members
		}
		all = append(all, b)
	}
	return all
}

// portFields are the fields of ports that are read.
var portFields = []string{"id", "name", "network_id", "device_id", "device_owner", "fixed_ips", "security_groups", "port_security_enabled"}

func (c *cloud) readNetwork(ctx context.Context, n *doctor.Network, controllers doctor.Controllers) {
	service, project, fields := c.session.Network(), c.session.ProjectID(), portFields
	if controllers.Route {
		fields = slices.Concat(fields, []string{"mac_address", "allowed_address_pairs", "tags"})
	}
	inParallel(
		func() {
			n.Networks = list[doctor.Net](ctx, service, "networks", url.Values{"fields": {"id", "name", "project_id", "router:external", "subnets"}})
		},
		func() {
			n.Subnets = list[doctor.Subnet](ctx, service, "subnets", url.Values{"fields": {"id", "name", "network_id", "ip_version", "cidr", "allocation_pools"}})
		},
		func() {
			n.Ports = list[doctor.Port](ctx, service, "ports", url.Values{"project_id": {project}, "fields": fields})
			for i, p := range n.Ports.Value {
				n.Ports.Value[i].LoadBalancerID = neutron.LoadBalancerOf(p.Name, p.DeviceID, p.DeviceOwner)
			}
		},
		func() {
			n.Routers = list[doctor.Router](ctx, service, "routers", url.Values{"fields": {"id", "name", "external_gateway_info"}})
		},
		func() {
			n.Groups = list[doctor.Group](ctx, service, "security-groups", url.Values{"project_id": {project}, "fields": {"id", "name", "description", "security_group_rules"}})
		},
		func() {
			n.Availability = read(getList[doctor.Availability](ctx, service, "read the free addresses", "network-ip-availabilities", "network_ip_availabilities"))
		},
		func() {
			var answer struct {
				Quota decoding.Entries[doctor.Quota]
			}
			_, err := service.Get(ctx, service.ServiceURL("quotas", project, "details.json"), decoding.Into(&answer), nil)
			n.Quota = read(map[string]doctor.Quota(answer.Quota), openstack.Wrap("read the quota of Neutron", err))
		},
	)
}

// readMore reads the facts that depend on others.
func (c *cloud) readMore(ctx context.Context, f *doctor.Facts, k *cluster) {
	service := c.session.LoadBalancer()
	known := *f // f is written concurrently
	offers := func(used bool, feature lb.Feature, path, key string) doctor.Read[[]doctor.Offer] {
		api := known.Cloud.APIVersion
		switch {
		case !used:
			return notAsked[[]doctor.Offer]("nothing requests one")
		case api.OK() && !(lb.Capabilities{APIVersion: api.Value}).Has(feature):
			return notAsked[[]doctor.Offer](fmt.Sprintf("Octavia API version %s has no %s", api.Value, key))
		}
		return read(getList[doctor.Offer](ctx, service, "list the "+key, path, key))
	}
	inParallel(
		func() {
			f.Cloud.Octavia.Flavors = offers(doctor.UsesFlavors(known), lb.FeatureFlavors, "lbaas/flavors", "flavors")
		},
		func() {
			f.Cloud.Octavia.Zones = offers(doctor.UsesZones(known), lb.FeatureAvailabilityZones, "lbaas/availabilityzones", "availability_zones")
		},
		func() {
			f.Cloud.Network.InVIPNetworks = notAsked[[]doctor.Port]("the network of VIPs is unknown")
			if ids := doctor.VIPNetworks(known); len(ids) > 0 {
				f.Cloud.Network.InVIPNetworks = list[doctor.Port](ctx, c.session.Network(), "ports",
					url.Values{"network_id": ids, "fields": {"id", "device_id", "device_owner", "fixed_ips"}})
			}
		},
		func() { f.Cloud.Orphans = c.orphans(ctx, known, k) },
	)
}
