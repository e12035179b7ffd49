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

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// CheckAccess looks whether Octavia could get at a certificate in our name. The error is
// of class Invalid if it could not. What was found good is not asked for again.
func (c *Client) CheckAccess(ctx context.Context) error {
	c.mu.Lock()
	accessible := c.accessible
	c.mu.Unlock()
	if accessible {
		return nil
	}
	if err := c.exchange(ctx); err != nil {
		return unreachable(openstack.Wrap("check that Octavia can read certificates", err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accessible = true
	return nil
}

// Find returns the certificates of the name: usually one, and more after a create whose
// answer was lost. What was found once, or stored, is not looked for again.
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

// Store stores a PKCS #12 bundle under the name. Look with Find first: Barbican takes any
// number of the same name.
func (c *Client) Store(ctx context.Context, name string, bundle []byte) (lb.Certificate, error) {
	op := "store certificate " + name
	wish := map[string]string{"name": name, "payload": base64.StdEncoding.EncodeToString(bundle),
		"payload_content_type": "application/octet-stream", "payload_content_encoding": "base64"}
	var answer struct {
		Ref string `json:"secret_ref"`
	}
	if _, err := c.service.Post(ctx, c.service.ServiceURL("secrets"), wish, &answer, nil); err != nil {
		return lb.Certificate{}, openstack.Wrap(op, err)
	}
	ref, ok := lb.ParseSecretRef(answer.Ref)
	if !ok {
		return lb.Certificate{}, &openstack.Error{Op: op, Class: openstack.Transient, Unanswered: true, Message: "the answer has no reference"}
	}
	stored := lb.Certificate{Name: name, Ref: answer.Ref}
	c.remember(stored)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.good[ref] = true // what is in it is known
	return stored, nil
}

// Delete deletes a certificate. That it is gone already is no error.
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
	delete(c.good, ref)
	return nil
}

// Certificates returns all certificates that were stored for Services of the cluster, and
// takes what was remembered and is not among them for gone. Barbican lists by whole names
// only, so it is asked for all secrets of the project, a hundred a call.
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

// MayHaveStored reports whether certificates may be stored for Services, by this process or
// an earlier one.
func (c *Client) MayHaveStored() bool {
	if !c.Available() {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted || c.expected()
}

// Stored is Certificates without needless calls: it lists them as long as any Service asks for
// one, or there are some, and once after a start.
func (c *Client) Stored(ctx context.Context, clusterUID string) ([]lb.Certificate, error) {
	c.mu.Lock()
	none := c.none
	c.mu.Unlock()
	if none || !c.MayHaveStored() {
		return nil, nil
	}
	found, err := c.Certificates(ctx, clusterUID)
	if openstack.Classify(err) == openstack.Invalid {
		found, err = nil, nil // who may not list them has stored none
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.none = err == nil && len(found) == 0
	return found, err
}

// CertificatesOf returns what is remembered of a Service's certificates.
func (c *Client) CertificatesOf(owner lb.Mark) []lb.Certificate {
	if c == nil {
		return nil
	}
	return c.remembered(func(one lb.Certificate) bool {
		mark, ok := one.Mark()
		return ok && mark == owner
	})
}

// remembered returns those of what is remembered that are chosen.
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
	// pageSize is the most that Barbican puts on a page.
	pageSize = 100
	// mostPages bounds a list that has no end.
	mostPages = 1000
)

// list reads all pages of the secrets that the query chooses. The link to the next page
// keeps nothing of the query, so it is not followed.
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
		if _, err := c.service.Get(ctx, c.service.ServiceURL("secrets")+"?"+query.Encode(), &answer, nil); err != nil {
			return nil, openstack.Wrap(op, err)
		}
		if answer.Secrets == nil {
			return nil, &openstack.Error{Op: op, Class: openstack.Transient, Message: "the answer has no list of secrets"}
		}
		for _, s := range *answer.Secrets {
			if ref, ok := lb.ParseSecretRef(s.Ref); ok && ref.Kind == "secrets" && s.Name != nil {
				all = append(all, lb.Certificate{Name: *s.Name, Ref: s.Ref})
			}
		}
		if seen += len(*answer.Secrets); len(*answer.Secrets) == 0 || seen >= answer.Total {
			return all, nil
		}
	}
	return nil, &openstack.Error{Op: op, Class: openstack.Transient, Message: fmt.Sprintf("the list does not end after %d secrets", seen)}
}
