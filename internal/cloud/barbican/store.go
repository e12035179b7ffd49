// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Find returns the certificates with the name: usually one, several after a create whose answer was lost.
// Certificates that were found or stored before need no call.
func (c *Client) Find(ctx context.Context, name string) ([]lb.Certificate, error) {
	c.mu.Lock()
	c.wanted, c.none = true, false
	c.mu.Unlock()
	named := func(one lb.Certificate) bool { return one.Name == name }
	if known := c.remembered(named); len(known) > 0 {
		return known, nil
	}
	found, err := c.list(ctx, "look for certificate "+name, url.Values{"name": {name}})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(one lb.Certificate) bool { return !named(one) })
	c.remember(found...)
	return found, nil
}

// Store stores a PKCS #12 bundle. Call Find first: names need not be unique in Barbican.
func (c *Client) Store(ctx context.Context, name string, bundle []byte) (lb.Certificate, error) {
	op := "store certificate " + name
	secret := map[string]string{"name": name, "payload": base64.StdEncoding.EncodeToString(bundle),
		"payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"}
	var answer struct {
		Ref string `json:"secret_ref"`
	}
	if _, err := c.service.Post(ctx, c.service.ServiceURL("secrets"), secret, decoding.Into(&answer), nil); err != nil {
		return lb.Certificate{}, openstack.Wrap(op, err)
	}
	ref, ok := lb.ParseSecretRef(answer.Ref)
	if !ok {
		return lb.Certificate{}, openstack.Unreadable(op, "no reference")
	}
	stored := lb.Certificate{Name: name, Ref: answer.Ref}
	c.remember(stored)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.checked[ref] = true // its contents are known
	return stored, nil
}

// Delete deletes a certificate. It is no error if it does not exist.
func (c *Client) Delete(ctx context.Context, one lb.Certificate) error {
	op := "delete certificate " + one.Name
	ref, ok := lb.ParseSecretRef(one.Ref)
	if !ok || ref.Kind != "secrets" {
		return openstack.NewForeign(op, one.Ref+" was not stored by kube-octavia")
	}
	_, err := c.service.Delete(ctx, c.service.ServiceURL("secrets", ref.ID), nil)
	if gone, err := openstack.UnlessGone(openstack.Wrap(op, err)); !gone && err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = slices.DeleteFunc(c.stored, func(other lb.Certificate) bool {
		same, _ := lb.ParseSecretRef(other.Ref)
		return same == ref
	})
	delete(c.checked, ref)
	return nil
}

// Certificates returns all certificates that were stored for Services of the cluster, and removes those from
// memory that no longer exist. Barbican filters only by complete names, so it lists all secrets of the project, a
// hundred per call.
func (c *Client) Certificates(ctx context.Context, clusterUID string) ([]lb.Certificate, error) {
	before := c.remembered(func(lb.Certificate) bool { return true })
	found, err := c.list(ctx, "list certificates", url.Values{})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(one lb.Certificate) bool {
		mark, ok := one.Mark()
		return !ok || mark.ClusterUID != clusterUID
	})
	c.remember(found...)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stored = slices.DeleteFunc(c.stored, func(one lb.Certificate) bool {
		return slices.Contains(before, one) && !slices.Contains(found, one)
	})
	return found, nil
}

// MayHaveStored reports whether this process or an earlier one may have stored certificates.
func (c *Client) MayHaveStored() bool {
	if !c.Available() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted || c.expected()
}

// Stored is Certificates without unnecessary calls: it lists them once after a start, and then only while a Service
// requests one or some exist.
func (c *Client) Stored(ctx context.Context, clusterUID string) ([]lb.Certificate, error) {
	c.mu.Lock()
	none := c.none
	c.mu.Unlock()
	if none || !c.MayHaveStored() {
		return nil, nil
	}
	found, err := c.Certificates(ctx, clusterUID)
	if openstack.Classify(err) == openstack.Invalid {
		found, err = nil, nil // without access to the list, none were stored
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.none = err == nil && len(found) == 0
	return found, err
}

// CertificatesOf returns the known certificates of a Service.
func (c *Client) CertificatesOf(owner lb.Mark) []lb.Certificate {
	if c == nil {
		return nil
	}
	return c.remembered(func(one lb.Certificate) bool {
		mark, ok := one.Mark()
		return ok && mark == owner
	})
}

// remembered returns the known certificates for which chosen returns true.
func (c *Client) remembered(chosen func(lb.Certificate) bool) []lb.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.stored), func(one lb.Certificate) bool { return !chosen(one) })
}

func (c *Client) remember(all ...lb.Certificate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range all {
		if !slices.Contains(c.stored, one) {
			c.stored = append(c.stored, one)
		}
	}
}

const (
	// pageSize is Barbican's maximum per page.
	pageSize = 100
	// mostPages limits a list that never ends.
	mostPages = 1000
)

// list reads all pages of the secrets that the query selects. The links to further pages lose the query, so they
// are not followed.
func (c *Client) list(ctx context.Context, op string, query url.Values) ([]lb.Certificate, error) {
	query.Set("limit", strconv.Itoa(pageSize))
	var all []lb.Certificate
	seen := 0
	for range mostPages {
		query.Set("offset", strconv.Itoa(seen))
		var answer struct {
			Secrets *[]struct {
				Name *string `json:"name"`
				Ref  string  `json:"secret_ref"`
			} `json:"secrets"`
			Total int `json:"total"`
		}
		if _, err := c.service.Get(ctx, c.service.ServiceURL("secrets")+"?"+query.Encode(), decoding.Into(&answer), nil); err != nil {
			return nil, openstack.Wrap(op, err)
		}
		if answer.Secrets == nil {
			return nil, openstack.Unreadable(op, "no list of secrets")
		}
		for _, s := range *answer.Secrets {
			if ref, ok := lb.ParseSecretRef(s.Ref); ok && ref.Kind == "secrets" && s.Name != nil {
				all = append(all, lb.Certificate{Name: *s.Name, Ref: s.Ref})
			}
		}
		seen += len(*answer.Secrets)
		if len(*answer.Secrets) == 0 || seen >= answer.Total {
			return all, nil
		}
	}
	return nil, &openstack.Error{Op: op, Class: openstack.Transient, Message: fmt.Sprintf("the list does not end after %d secrets", seen)}
}
