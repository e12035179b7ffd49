// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// fields is a request document. Fields that are not set are not sent.
type fields map[string]any

// providerVersion is the API version since which requests can name a provider. Older versions only have amphora.
var providerVersion = lb.Version{Major: 2, Minor: 6}

// Apply carries out one op with one call. When it returns nil, Octavia has accepted the op and has set the load
// balancer to PENDING_* in the same transaction: once it is ACTIVE again, the change is complete. Deleting what
// does not exist is not an error; the result reports it.
func (c *Client) Apply(ctx context.Context, op diff.Op) (diff.Created, error) {
	what := op.String()
	switch op := op.(type) {
	case diff.CreateLoadBalancer:
		return c.createLoadBalancer(ctx, what, op.LoadBalancer)
	case diff.UpdateLoadBalancer:
		set := fields{}
		setIf(set, "tags", op.Tags)
		setAdminState(set, op.AdminDown)
		return diff.Created{}, c.put(ctx, what, "loadbalancers/"+op.ID, fields{"loadbalancer": set})
	case diff.SetVIPSecurityGroups:
		set := fields{"tags": append([]string{}, op.Tags...), "vip_sg_ids": nil} // null removes them
		if len(op.Groups) > 0 {
			set["vip_sg_ids"] = op.Groups
		}
		return diff.Created{}, c.put(ctx, what, "loadbalancers/"+op.ID, fields{"loadbalancer": set})
	case diff.FailoverLoadBalancer:
		return diff.Created{}, c.put(ctx, what, "loadbalancers/"+op.ID+"/failover", nil)
	case diff.DeleteLoadBalancer:
		return c.remove(ctx, what, "loadbalancers/"+op.ID+"?cascade=true")
	case diff.CreateListener:
		return c.createListener(ctx, what, op)
	case diff.UpdateListener:
		set := fields{}
		setIf(set, "connection_limit", op.ConnectionLimit)
		if op.AllowedCIDRs != nil {
			set["allowed_cidrs"] = append([]string{}, *op.AllowedCIDRs...) // never null
		}
		setTimeouts(set, op.Timeouts)
		if op.InsertHeaders != nil {
			set["insert_headers"] = headers(*op.InsertHeaders)
		}
		if op.TLS != nil {
			set["default_tls_container_ref"] = nil // unless there is one
			setText(set, "default_tls_container_ref", op.TLS.Certificate)
			set["sni_container_refs"] = append([]string{}, op.TLS.SNI...)
		}
		setHSTS(set, op.HSTS)
		setIf(set, "default_pool_id", op.PoolID)
		setAdminState(set, op.AdminDown)
		return diff.Created{}, c.put(ctx, what, "listeners/"+op.ID, fields{"listener": set})
	case diff.SetTags:
		return diff.Created{}, c.put(ctx, what, op.Of+"s/"+op.ID, fields{op.Of: fields{"tags": append([]string{}, op.Tags...)}})
	case diff.DeleteListener:
		return c.remove(ctx, what, "listeners/"+op.ID)
	}
	return c.applyPool(ctx, what, op)
}

// createListener creates a listener with its pool. Octavia 16 (2025.1) usually answers with 500 if a listener of
// another transport protocol has the same port number and the new one has a pool; Octavia 11 and 19 do not. Then the
// listener is created without the pool, which a later plan sets.
func (c *Client) createListener(ctx context.Context, what string, op diff.CreateListener) (diff.Created, error) {
	listener := c.listener(op.Listener)
	listener["loadbalancer_id"] = op.LoadBalancerID
	setText(listener, "default_pool_id", op.PoolID)
	made, err := c.create(ctx, what, "listeners", "listener", listener)
	if op.PoolID == "" || !openstack.IsSharedPortFault(err) {
		return made, err
	}
	delete(listener, "default_pool_id")
	made, err = c.create(ctx, what, "listeners", "listener", listener)
	made.WithoutPool = err == nil
	return made, err
}

// CheckListener finds out whether Octavia accepts a listener, by requesting it for a port that another listener has:
// Octavia checks the certificates of the request before the port, so it answers with 409 if everything else is valid.
// Then the error is nil. If the port is free by now, the listener is created, and the error is of class Conflict.
func (c *Client) CheckListener(ctx context.Context, op diff.CreateListener) error {
	_, err := c.Apply(ctx, op)
	switch {
	case openstack.Classify(err) == openstack.Conflict:
		return nil
	case err == nil:
		return &openstack.Error{Op: op.String(), Class: openstack.Conflict, Message: "another client has closed the port meanwhile"}
	}
	return err
}

func (c *Client) applyPool(ctx context.Context, what string, op diff.Op) (diff.Created, error) {
	switch op := op.(type) {
	case diff.CreatePool:
		pool := c.pool(op.Pool)
		pool["loadbalancer_id"] = op.LoadBalancerID
		return c.create(ctx, what, "pools", "pool", pool)
	case diff.UpdatePool:
		return diff.Created{}, c.put(ctx, what, "pools/"+op.ID, fields{"pool": fields{
			"lb_algorithm": op.Algorithm, "session_persistence": persistence(op.Persistence), "admin_state_up": !op.AdminDown,
		}})
	case diff.DeletePool:
		return c.remove(ctx, what, "pools/"+op.ID)
	case diff.SetMembers:
		return diff.Created{}, c.put(ctx, what, "pools/"+op.PoolID+"/members", fields{"members": members(op.Members)})
	case diff.CreateMonitor:
		monitor := c.monitor(op.Monitor)
		monitor["pool_id"] = op.PoolID
		return c.create(ctx, what, "healthmonitors", "healthmonitor", monitor)
	case diff.UpdateMonitor:
		monitor := c.monitor(op.Monitor)
		// These can be set only at creation.
		for _, field := range []string{"name", "tags", "type"} {
			delete(monitor, field)
		}
		return diff.Created{}, c.put(ctx, what, "healthmonitors/"+op.ID, fields{"healthmonitor": monitor})
	case diff.DeleteMonitor:
		return c.remove(ctx, what, "healthmonitors/"+op.ID)
	}
	return diff.Created{}, &openstack.Error{Op: what, Class: openstack.Invalid, Message: diff.Kind(op) + " is not an op of Octavia"}
}

// create creates one object and returns its id.
func (c *Client) create(ctx context.Context, what, path, key string, object fields) (diff.Created, error) {
	var answer decoding.Entries[reference]
	if err := c.post(ctx, what, path, fields{key: object}, &answer); err != nil {
		return diff.Created{}, err
	}
	if !openstack.IsID(answer[key].ID) {
		return diff.Created{}, openstack.Unreadable(what, "no "+key)
	}
	return diff.Created{ID: answer[key].ID}, nil
}

// createLoadBalancer creates the load balancer and its children.
func (c *Client) createLoadBalancer(ctx context.Context, what string, l lb.LoadBalancer) (diff.Created, error) {
	object := fields{"name": l.Name, "description": l.Description, "admin_state_up": !l.AdminDown}
	c.setTags(object, l.Tags)
	if c.can.APIVersion.AtLeast(providerVersion) || l.Provider != lb.ProviderAmphora {
		setText(object, "provider", l.Provider)
	}
	setText(object, "flavor_id", l.FlavorID)
	setText(object, "availability_zone", l.AvailabilityZone)
	setText(object, "vip_address", l.VIP.Address)
	setText(object, "vip_subnet_id", l.VIP.SubnetID)
	setText(object, "vip_network_id", l.VIP.NetworkID)
	setText(object, "vip_port_id", l.VIP.PortID)
	if len(l.AdditionalVIPs) > 0 { // some clouds do not have the field
		object["additional_vips"] = additionalVIPs(l.AdditionalVIPs)
	}
	if len(l.VIPSecurityGroups) > 0 { // some clouds do not have the field
		object["vip_sg_ids"] = l.VIPSecurityGroups
	}
	listeners := []fields{}
	for _, wanted := range l.Listeners {
		listener := c.listener(wanted)
		if p := wanted.Pool; p != nil {
			pool := c.pool(*p)
			pool["members"] = members(p.Members)
			if p.Monitor != nil {
				pool["healthmonitor"] = c.monitor(*p.Monitor)
			}
			listener["default_pool"] = pool
		}
		listeners = append(listeners, listener)
	}
	object["listeners"] = listeners
	var answer struct {
		LoadBalancer loadBalancerDocument `json:"loadbalancer"`
	}
	err := c.post(ctx, what, "loadbalancers", fields{"loadbalancer": object}, &answer)
	if err != nil && l.VIP.Address != "" {
		err = openstack.OfRequestedVIP(err)
	}
	if err != nil {
		return diff.Created{}, err
	}
	made := answer.LoadBalancer.model()
	if !openstack.IsID(made.ID) {
		return diff.Created{}, openstack.Unreadable(what, "no load balancer")
	}
	return diff.Created{ID: made.ID, VIP: made.VIP, AdditionalVIPs: made.AdditionalVIPs, ProjectID: made.ProjectID, Provider: made.Provider}, nil
}

func additionalVIPs(vips []lb.VIP) []vipDocument {
	documents := make([]vipDocument, len(vips))
	for i, v := range vips {
		documents[i].SubnetID = v.SubnetID
		if v.Address != "" {
			documents[i].IPAddress = &v.Address
		}
	}
	return documents
}

func (c *Client) listener(l lb.Listener) fields {
	object := fields{
		"name": l.Name, "protocol": l.Protocol, "protocol_port": l.Port,
		"connection_limit": l.ConnectionLimit, "admin_state_up": !l.AdminDown,
	}
	c.setTags(object, l.Tags)
	if len(l.AllowedCIDRs) > 0 { // some clouds do not have the field
		object["allowed_cidrs"] = l.AllowedCIDRs
	}
	setTimeouts(object, l.Timeouts)
	if len(l.InsertHeaders) > 0 {
		object["insert_headers"] = headers(l.InsertHeaders)
	}
	if l.TLS != nil {
		setText(object, "default_tls_container_ref", l.TLS.Certificate)
		if len(l.TLS.SNI) > 0 {
			object["sni_container_refs"] = l.TLS.SNI
		}
	}
	if l.HSTS.Enabled { // some clouds do not have the fields
		setHSTS(object, &l.HSTS)
	}
	return object
}

// headers enables these headers, and disables all others.
func headers(names []string) map[string]string {
	on := map[string]string{}
	for _, name := range names {
		on[name] = "true"
	}
	return on
}

// setHSTS sets all fields together, because Octavia refuses the others without an age.
func setHSTS(object fields, h *lb.HSTS) {
	if h == nil {
		return
	}
	object["hsts_max_age"], object["hsts_include_subdomains"], object["hsts_preload"] = nil, h.IncludeSubdomains, h.Preload
	if h.Enabled {
		object["hsts_max_age"] = h.MaxAgeSeconds
	}
}

func setTimeouts(object fields, t *lb.Timeouts) {
	if t == nil { // some clouds do not have the field
		return
	}
	object["timeout_client_data"], object["timeout_member_connect"] = t.ClientData, t.MemberConnect
	object["timeout_member_data"], object["timeout_tcp_inspect"] = t.MemberData, t.TCPInspect
}

func (c *Client) pool(p lb.Pool) fields {
	object := fields{"name": p.Name, "protocol": p.Protocol, "lb_algorithm": p.Algorithm, "admin_state_up": !p.AdminDown}
	c.setTags(object, p.Tags)
	if p.Persistence != nil {
		object["session_persistence"] = persistence(p.Persistence)
	}
	return object
}

func (c *Client) monitor(m lb.HealthMonitor) fields {
	object := fields{
		"name": m.Name, "type": m.Type, "delay": m.DelaySeconds, "timeout": m.TimeoutSeconds, "max_retries": m.MaxRetries,
		"max_retries_down": m.MaxRetriesDown, "admin_state_up": !m.AdminDown,
	}
	c.setTags(object, m.Tags)
	setText(object, "http_method", m.HTTPMethod)
	setText(object, "url_path", m.URLPath)
	setText(object, "expected_codes", m.ExpectedCodes)
	return object
}

// members returns all members, never null: an empty list removes all members of the pool. A field that is omitted
// is reset to its default.
func members(all []lb.Member) []fields {
	objects := make([]fields, 0, len(all))
	for _, m := range all {
		object := fields{
			"name": m.Name, "address": m.Address, "protocol_port": m.Port, "weight": m.Weight, "admin_state_up": !m.AdminDown,
		}
		setText(object, "subnet_id", m.SubnetID)
		if m.MonitorPort != 0 {
			object["monitor_port"] = m.MonitorPort
		}
		if m.Backup {
			object["backup"] = true
		}
		objects = append(objects, object)
	}
	return objects
}

// persistence returns nil, null in JSON, to end session persistence.
func persistence(p *lb.Persistence) *persistenceDocument {
	if p == nil {
		return nil
	}
	document := &persistenceDocument{Type: p.Type}
	if p.TimeoutSeconds != 0 {
		document.Timeout = &p.TimeoutSeconds
	}
	return document
}

func (c *Client) setTags(object fields, tags []string) {
	if len(tags) > 0 && c.can.Has(lb.FeatureTags) {
		object["tags"] = tags
	}
}

func setAdminState(object fields, down *bool) {
	if down != nil {
		object["admin_state_up"] = !*down
	}
}

func setText(object fields, key, text string) {
	if text != "" {
		object[key] = text
	}
}

func setIf[T any](object fields, key string, p *T) {
	if p != nil {
		object[key] = *p
	}
}
