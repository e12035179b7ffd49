// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
)

// usual are the ConfigMaps of an installation by the manifests or the chart under the names in the documentation, and
// of a controller outside the cluster.
var usual = []types.NamespacedName{{Namespace: "kube-octavia", Name: "kube-octavia" + suffix}, {Namespace: "kube-system", Name: "kube-octavia" + suffix}}

// List reads the ConfigMaps with settings, and the Leases of the controllers. For a user who may not list ConfigMaps in
// all namespaces, it reads those with the usual names. The reader must not have a cache.
func List(ctx context.Context, reader client.Reader) (Candidates, error) {
	var list corev1.ConfigMapList
	err := reader.List(ctx, &list, client.MatchingLabels{Label: version})
	if apierrors.IsForbidden(err) {
		list, err = readUsual(ctx, reader, err)
	}
	if err != nil {
		return Candidates{}, fmt.Errorf("list ConfigMaps: %w", err)
	}
	var c Candidates
	for i := range list.Items {
		s, err := Parse(&list.Items[i])
		if err != nil {
			c.Unreadable = append(c.Unreadable, err.Error())
			continue
		}
		c.Settings = append(c.Settings, s)
	}
	leases, err := othercontroller.ReadInstances(ctx, reader)
	c.LeasesUnknown = apierrors.IsForbidden(err)
	if err != nil && !c.LeasesUnknown {
		return Candidates{}, err
	}
	for _, l := range leases {
		if l.Alive(time.Now()) {
			c.Alive = append(c.Alive, l.LeaseName)
		}
	}
	return c, nil
}

// readUsual reads the ConfigMaps with the usual names. If there are none, it returns the error of the list.
func readUsual(ctx context.Context, reader client.Reader, refused error) (list corev1.ConfigMapList, _ error) {
	for _, name := range usual {
		var m corev1.ConfigMap
		switch err := reader.Get(ctx, client.ObjectKey(name), &m); {
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
			continue
		case err != nil:
			return list, err
		}
		list.Items = append(list.Items, m)
	}
	if len(list.Items) == 0 {
		return list, fmt.Errorf("%w, and there is none that may be read under a usual name, such as %s: name it with --settings", refused, usual[0])
	}
	return list, nil
}

// Get reads the ConfigMap that flag --settings names.
func Get(ctx context.Context, reader client.Reader, name types.NamespacedName) (*corev1.ConfigMap, error) {
	var m corev1.ConfigMap
	if err := reader.Get(ctx, client.ObjectKey(name), &m); err != nil {
		return nil, fmt.Errorf("read ConfigMap %s (--settings): %w", name, err)
	}
	return &m, nil
}
