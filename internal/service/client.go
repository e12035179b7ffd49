// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patching is a Kubernetes client whose patches have a time limit, because a patch without an
// answer would block its Service. Track makes the patches; conflict.Tracker recognises them when
// they come back as watch events. The controller writes by patches only.
type patching struct {
	client.Client
	limit time.Duration
	track func(object client.Object, write func() error) error
}

// Patch implements client.Writer.
func (c patching) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.track(object, func() error { return c.Client.Patch(ctx, object, patch, options...) })
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
	return c.client.track(object, func() error { return c.SubResourceWriter.Patch(ctx, object, patch, options...) })
}
