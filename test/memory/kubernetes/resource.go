// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kube-octavia/kube-octavia/test/kube/kubeversion"
)

// resource is a kind of objects that the API has.
type resource struct {
	group, version, name, kind string
	namespaced, status         bool
	since                      int // the minor version that has it first, if that matters
}

// resources are all kinds of objects.
var resources = []resource{
	{"", "v1", "services", "Service", true, true, 0},
	{"", "v1", "nodes", "Node", false, true, 0},
	{"", "v1", "namespaces", "Namespace", false, true, 0},
	{"", "v1", "secrets", "Secret", true, false, 0},
	{"", "v1", "configmaps", "ConfigMap", true, false, 0},
	{"", "v1", "pods", "Pod", true, true, 0},
	{"discovery.k8s.io", "v1", "endpointslices", "EndpointSlice", true, false, 0},
	{"coordination.k8s.io", "v1", "leases", "Lease", true, false, 0},
	{"apps", "v1", "daemonsets", "DaemonSet", true, true, 0},
	{"apps", "v1", "deployments", "Deployment", true, true, 0},
	{"events.k8s.io", "v1", "events", "Event", true, false, 0},
	{"networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", false, true, kubeversion.HasServiceCIDR},
	{"authentication.k8s.io", "v1", "selfsubjectreviews", reviewOfSelf, false, false, 0},
	{"authorization.k8s.io", "v1", "selfsubjectaccessreviews", reviewOfAccess, false, false, 0},
}

func (r resource) groupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: r.group, Version: r.version}
}

func (r resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.name}
}

// target is what a path names.
type target struct {
	resource                     resource
	namespace, name, subresource string
}

// parse finds what a path names.
func parse(path string) (t target, found bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var group, version string
	switch {
	case len(parts) > 2 && parts[0] == "api":
		version, parts = parts[1], parts[2:]
	case len(parts) > 3 && parts[0] == "apis":
		group, version, parts = parts[1], parts[2], parts[3:]
	default:
		return t, false
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		t.namespace, parts = parts[1], parts[2:]
	}
	for _, r := range resources {
		if r.group == group && r.version == version && r.name == parts[0] && (r.namespaced || t.namespace == "") {
			t.resource, found = r, true
		}
	}
	if len(parts) > 1 {
		t.name = parts[1]
	}
	if len(parts) > 2 {
		t.subresource = parts[2]
	}
	return t, found && len(parts) <= 3
}

// discover answers questions about the API itself.
func (a *API) discover(path string) any {
	path = strings.Trim(path, "/")
	switch path {
	case "version":
		return version.Info{Major: "1", Minor: strconv.Itoa(a.minor()), GitVersion: fmt.Sprintf("v1.%d.0", a.minor())}
	case "api":
		return metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}, Versions: []string{"v1"}}
	case "apis":
		return a.groups()
	}
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, r := range resources {
		if !a.has(r) || path != "api/v1" && path != "apis/"+r.groupVersion().String() || (path == "api/v1") != (r.group == "") {
			continue
		}
		list.GroupVersion = r.groupVersion().String()
		verbs := metav1.Verbs{"create", "delete", "get", "list", "patch", "update", "watch"}
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.name, SingularName: strings.ToLower(r.kind), Namespaced: r.namespaced, Kind: r.kind, Verbs: verbs})
		if r.status {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: r.name + "/status", Namespaced: r.namespaced, Kind: r.kind, Verbs: metav1.Verbs{"get", "patch", "update"}})
		}
	}
	if list.GroupVersion == "" {
		return nil
	}
	return list
}

func (a *API) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, r := range resources {
		if r.group == "" || !a.has(r) {
			continue
		}
		version := metav1.GroupVersionForDiscovery{GroupVersion: r.groupVersion().String(), Version: r.version}
		if n := len(list.Groups); n > 0 && list.Groups[n-1].Name == r.group {
			continue
		}
		list.Groups = append(list.Groups, metav1.APIGroup{Name: r.group, Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version})
	}
	return list
}

// methods are the verbs of requests to one object.
var methods = map[string]bool{http.MethodGet: true, http.MethodPut: true, http.MethodPatch: true, http.MethodDelete: true}
