// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package existence finds out whether a call failed because its object does not exist.
package existence

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/paging"
)

// Explain returns the error of a call about the object with the id, or nil for nil. Some services answer with 500
// instead of 404 if the object does not exist, as Neutron 26 and 29 do for calls about tags. So after a 500 the list of
// the collection is read once: if it lacks the object, the error is of class Gone. The list is read instead of the
// object, because the access rules of application credentials allow lists.
func Explain(ctx context.Context, service *gophercloud.ServiceClient, err error, collection, id string) error {
	return ExplainBy(err, func() (bool, error) {
		if !openstack.IsID(id) { // the service would not filter by it
			return true, nil
		}
		type object struct {
			ID                 string `json:"id"`
			ProvisioningStatus string `json:"provisioning_status"`
		}
		all, err := paging.List[object](ctx, service, "look whether "+id+" exists", collection, url.Values{"id": {id}})
		return slices.ContainsFunc(all, func(o object) bool { return o.ID == id && o.ProvisioningStatus != "DELETED" }), err
	})
}

// ExplainBy is Explain with another check of existence. If the check fails, the error is unchanged.
func ExplainBy(err error, exists func() (bool, error)) error {
	var failed *openstack.Error
	if !errors.As(err, &failed) || failed.Status != http.StatusInternalServerError || failed.Class != openstack.Transient {
		return err
	}
	if there, lookErr := exists(); there || lookErr != nil {
		return err
	}
	gone := *failed
	gone.Class, gone.Unanswered = openstack.Gone, false
	gone.Message = "it does not exist, which the service reports as an internal error: " + strings.TrimSuffix(failed.Message, ".")
	return &gone
}
