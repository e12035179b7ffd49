// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package instances provides Kubernetes' node controllers with the addresses, provider id, type and zone of each Node's
// server in Nova, and with whether the server still exists. The rules are the same as in
// openstack-cloud-controller-manager, so that Nodes that it has initialized do not change.
//
// All servers and ports of the project are read together, with one call per thousand of each. Decisions are pure
// functions over an Inventory.
package instances

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	cloudprovider "k8s.io/cloud-provider"
	cloudproviderapi "k8s.io/cloud-provider/api"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// retryAge is the time after its read for which a list of servers is used for new Nodes whose servers were not
// found.
const retryAge = 5 * time.Second

// Options configure Instances.
type Options struct {
	// Cloud reads servers and ports.
	Cloud *Cloud
	// Networking configures how addresses are classified.
	Networking config.Networking
	// Region is the region of the cloud, for labels and provider ids. It may be empty.
	Region string
	// RegionInProviderID adds the region to the provider ids of new Nodes.
	RegionInProviderID bool
	// Nodes lists the Nodes of the cluster.
	Nodes func() ([]*corev1.Node, error)
	// ListAge is the time after its read for which a list of servers is used for Nodes that are not new; 0 means 15 s.
	// Kubernetes checks all Nodes one after the other, and those that are not ready every few seconds.
	ListAge time.Duration
	// Recorder records the reasons why Nodes cannot be initialized or deleted.
	Recorder events.EventRecorder
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
}

// Instances implements cloudprovider.InstancesV2. It is safe for concurrent use.
type Instances struct {
	Options
	inventories *cache
	flavors     *flavors
}

// New returns Instances. It makes no calls.
func New(o Options) *Instances {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ListAge == 0 {
		o.ListAge = 15 * time.Second
	}
	return &Instances{Options: o, inventories: newCache(o.Cloud.Inventory, o.Now), flavors: &flavors{read: o.Cloud.flavorIDs, now: o.Now}}
}

var _ cloudprovider.InstancesV2 = &Instances{}

// InstanceMetadata implements cloudprovider.InstancesV2. For a Node of another cloud or region it returns nothing that
// would change the Node. It fails, and records an event, if an uninitialized Node has no server, several, or one
// without an address. Kubernetes then retries.
func (i *Instances) InstanceMetadata(ctx context.Context, node *corev1.Node) (*cloudprovider.InstanceMetadata, error) {
	isNew := IsUninitialized(node)
	id, err := OwnID(node, i.Region)
	if isNew { // its labels are those that kubelet was configured with, and this controller will set the label of the region
		id, err = parseOwn(node.Spec.ProviderID, i.Region)
	}
	switch {
	case err != nil:
		i.report(node, nil, status.ReasonInvalidProviderID, fmt.Sprintf("%v. It is unknown which server the Node is; a provider id cannot be changed: correct --provider-id of kubelet, "+
			"delete the Node with kubectl delete node %s, and restart kubelet there", err, node.Name))
		return nil, err
	case id == nil && isNew:
		return nil, nil // the controller of the other cloud initializes it
	case id == nil:
		return &cloudprovider.InstanceMetadata{ProviderID: node.Spec.ProviderID}, nil
	case !isNew:
		inventory, server, err := i.server(ctx, *id, node.Name, i.recent(i.ListAge))
		if errors.Is(err, cloudprovider.InstanceNotFound) && isReady(node) {
			note, successor := inventory.lost(node.Name, *id, server)
			i.report(node, successor, status.ReasonServerNotFound, note)
		}
		if err != nil {
			return nil, err
		}
		return i.metadata(inventory, server), nil
	}
	recent := i.recent(retryAge) // a list that this call reads is not read again, however long the call takes
	metadata, err := i.newMetadata(ctx, *id, node.Name, begunSince(i.complete(node)))
	if err != nil && !recent(i.inventories.latest()) {
		metadata, err = i.newMetadata(ctx, *id, node.Name, recent)
	}
	if err != nil {
		i.Recorder.Eventf(node, nil, corev1.EventTypeWarning, status.ReasonNodeNotInitialized, "Initialize", "%s", status.Note(err.Error()))
	}
	return metadata, err
}

// report records why an initialized Node is not updated. Kubernetes merges repeated events with the same objects into
// one, with the text of the first. So if the text depends on another object, the event must have that as related
// object.
func (i *Instances) report(node *corev1.Node, related runtime.Object, reason, text string) {
	i.Recorder.Eventf(node, related, corev1.EventTypeWarning, reason, "Update", "%s", status.Note(text))
}

// isReady reports whether kubelet reports that the Node is ready.
func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// recent accepts lists of servers up to this age.
func (i *Instances) recent(age time.Duration) freshness { return endedSince(i.Now().Add(-age)) }

// IsUninitialized reports whether a Node has the taint with which kubelet registers it for an external cloud provider.
func IsUninitialized(node *corev1.Node) bool {
	return hasTaint(node, cloudproviderapi.TaintExternalCloudProvider)
}

func hasTaint(node *corev1.Node, key string) bool {
	return slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
}

// complete returns the time since which an inventory has everything about a new Node: its server and ports existed
// before kubelet registered it. Timestamps of Kubernetes have no fractions of a second.
func (i *Instances) complete(node *corev1.Node) time.Time {
	created := node.CreationTimestamp.Add(time.Second)
	if now := i.Now(); created.After(now) { // the clock of the API server is ahead
		return now
	}
	return created
}

// newMetadata returns the metadata of an uninitialized Node. Kubernetes never changes the labels later, so it fails if
// it cannot determine the instance type.
func (i *Instances) newMetadata(ctx context.Context, id ProviderID, name string, fresh freshness) (*cloudprovider.InstanceMetadata, error) {
	inventory, server, err := i.server(ctx, id, name, fresh)
	if err != nil {
		return nil, err
	}
	metadata := i.metadata(inventory, server)
	if !slices.ContainsFunc(metadata.NodeAddresses, isIP) {
		return nil, fmt.Errorf("server %s has no address yet: neither its active ports in Neutron nor Nova show one that [Networking] of cloud.conf allows",
			metadata.ProviderID)
	}
	metadata.InstanceType, err = i.flavors.instanceType(ctx, server.Flavor.Name, i.Now().Add(-i.ListAge))
	if err != nil {
		return nil, fmt.Errorf("the name of flavor %q cannot be a label, and its id is not known: %w", server.Flavor.Name, err)
	}
	return metadata, nil
}

// metadata returns the metadata of a Node from an inventory, without the instance type, which only a new Node
// gets.
func (i *Instances) metadata(inventory Inventory, server Server) *cloudprovider.InstanceMetadata {
	region := ""
	if i.RegionInProviderID {
		region = i.Region
	}
	return &cloudprovider.InstanceMetadata{
		ProviderID:       ProviderID{Region: region, Server: server.ID}.String(),
		NodeAddresses:    inventory.Addresses(server, i.Networking),
		Zone:             LabelValue(server.AvailabilityZone),
		Region:           i.Region,
		AdditionalLabels: additionalLabels(server),
	}
}

// server returns the server of a Node, and the inventory that has it or lacks it.
func (i *Instances) server(ctx context.Context, id ProviderID, name string, fresh freshness) (Inventory, Server, error) {
	inventory, err := i.inventories.get(ctx, fresh)
	if err != nil {
		return Inventory{}, Server{}, err
	}
	server, err := i.find(ctx, inventory, id, name)
	return inventory, server, err
}

// find returns the server of a Node: the one with the id, or without an id the only one with the name of the Node. If a
// cell of Nova is down, a list may silently lack servers. So a server that is not in the list is read by its id. For a
// server that is deleted and can be restored, it returns the server and the error that it does not exist.
func (i *Instances) find(ctx context.Context, inventory Inventory, id ProviderID, name string) (Server, error) {
	if id.Server == "" {
		return inventory.ByName(name)
	}
	server, there := inventory.Servers[id.Server]
	if !there {
		var err error
		server, there, err = i.Cloud.Server(ctx, id.Server)
		if err != nil {
			return Server{}, err
		}
	}
	switch {
	case !there:
		return Server{}, notFound("Nova has no server " + id.Server)
	case server.IsDeleted():
		return server, notFound(fmt.Sprintf("server %s is deleted (%s)", id.Server, server.Status))
	}
	return server, nil
}

// notFound returns the error for a server that no longer exists. It is an InstanceNotFound with a text about Nova.
func notFound(what string) error { return fmt.Errorf("%s: %w", what, cloudprovider.InstanceNotFound) }

// InstanceExists implements cloudprovider.InstancesV2. Kubernetes deletes Nodes for which it returns false. So it
// returns false only if Nova answers that no server has the id of the Node, and the project is that of the cluster, or
// that the server is deleted and can be restored. It also checks that the Node was not replaced by another one of the
// same name. Without a provider id, and for Nodes of other clouds, it returns true.
func (i *Instances) InstanceExists(ctx context.Context, node *corev1.Node) (bool, error) {
	id, err := OwnID(node, i.Region)
	if err != nil || id == nil || id.Server == "" {
		return true, err
	}
	inventory, server, err := i.server(ctx, *id, node.Name, i.recent(i.ListAge))
	if !errors.Is(err, cloudprovider.InstanceNotFound) {
		return true, err
	}
	nodes, err := i.Nodes()
	if err != nil {
		return true, err
	}
	if !server.IsDeleted() && !i.inventories.had(id.Server) && !inventory.HasServerOfAny(nodes) {
		err := fmt.Errorf("the Node is kept although Nova has no server %s: project %s has no server of any Node, so it may be another project than that of the cluster; "+
			"if it is the right one, delete the Node with kubectl", id.Server, i.Cloud.ProjectID())
		i.Recorder.Eventf(node, nil, corev1.EventTypeWarning, status.ReasonNodeNotDeleted, "Delete", "%s", err.Error())
		return true, err
	}
	// Kubernetes deletes by name. Checking many Nodes takes long, and another Node may have this name now.
	return !slices.ContainsFunc(nodes, func(n *corev1.Node) bool { return n.Name == node.Name && n.UID == node.UID }), nil
}

// InstanceShutdown implements cloudprovider.InstancesV2. It reports whether the server is stopped, so that no Pod
// runs on it.
func (i *Instances) InstanceShutdown(ctx context.Context, node *corev1.Node) (bool, error) {
	id, err := OwnID(node, i.Region)
	if err != nil || id == nil || id.Server == "" {
		return false, err
	}
	_, server, err := i.server(ctx, *id, node.Name, i.recent(i.ListAge))
	if err != nil || !server.IsStopped() || hasTaint(node, cloudproviderapi.TaintNodeShutdown) {
		return server.IsStopped(), err
	}
	// The server may have been started since the list was read, and Kubernetes may detach volumes
	// of a Node with the taint.
	server, there, err := i.Cloud.Server(ctx, id.Server)
	return there && server.IsStopped(), err
}
