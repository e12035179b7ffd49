// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patient is a client of Kubernetes whose patches have an end: one that is not
// answered would keep its Service waiting, and a worker with it. Patches are the
// only writes here.
type patient struct {
	client.Client
	limit time.Duration
}

// Patch implements client.Writer.
func (c patient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.Client.Patch(ctx, object, patch, options...)
}

// Status implements client.StatusClient.
func (c patient) Status() client.SubResourceWriter {
	return patientStatus{c.Client.Status(), c.limit}
}

type patientStatus struct {
	client.SubResourceWriter
	limit time.Duration
}

// Patch implements client.SubResourceWriter.
func (c patientStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.SubResourceWriter.Patch(ctx, object, patch, options...)
}
