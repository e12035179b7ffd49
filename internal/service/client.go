// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/conflict"
)

// patching is a client of Kubernetes whose patches have an end, since one that is not
// answered would keep its Service waiting, and whose patches of Services are known when they
// come back as events. Patches are the only writes here.
type patching struct {
	client.Client
	limit  time.Duration
	writes *conflict.Tracker
}

// Patch implements client.Writer.
func (c patching) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.writes.Track(object, func() error { return c.Client.Patch(ctx, object, patch, options...) })
}

// Status implements client.StatusClient.
func (c patching) Status() client.SubResourceWriter {
	return patchingStatus{c.Client.Status(), c}
}

type patchingStatus struct {
	client.SubResourceWriter
	client patching
}

// Patch implements client.SubResourceWriter.
func (c patchingStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	ctx, cancel := context.WithTimeout(ctx, c.client.limit)
	defer cancel()
	return c.client.writes.Track(object, func() error { return c.SubResourceWriter.Patch(ctx, object, patch, options...) })
}
