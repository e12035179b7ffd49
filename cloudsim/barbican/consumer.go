// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// usable returns the container in the path if the caller may read it. Otherwise the error names
// what was requested.
func (s *Service) usable(r *http.Request, what string) (*container, error) {
	x, err := s.findContainer(r)
	if err == nil && !s.policy.mayRead(&x.object, wire.Caller(r.Context()), false) {
		return nil, notAllowed(what)
	}
	return x, err
}

func (s *Service) listConsumers(w http.ResponseWriter, r *http.Request) error {
	x, err := s.usable(r, "ContainerConsumers(s) retrieval")
	if err != nil {
		return err
	}
	items := []any{}
	for _, c := range x.consumers {
		items = append(items, map[string]any{
			"created": timestamp(c.created), "updated": timestamp(c.updated), "status": "ACTIVE", "name": c.name, "URL": c.url,
		})
	}
	writePage(w, r, "containers/"+x.id+"/consumers", "consumers", items, nil)
	return nil
}

// readConsumer reads a consumer of a container from the request's body.
func readConsumer(r *http.Request) (c consumer, err error) {
	body, err := readBody(r)
	if err != nil {
		return c, err
	}
	for key, field := range map[string]*string{"name": &c.name, "URL": &c.url} {
		value, given := body[key]
		text, isText := value.(string)
		switch {
		case !given:
			return c, unfit("Consumer", "None", "'%s' is a required property", key)
		case !isText:
			return c, unfit("Consumer", key, "%s is not of type 'string'", python(value))
		case text == "":
			return c, unfit("Consumer", key, "'' is too short")
		}
		*field = text
	}
	return c, nil
}

func (c consumer) same(other consumer) bool { return c.name == other.name && c.url == other.url }

func (s *Service) postConsumer(w http.ResponseWriter, r *http.Request) error {
	x, err := s.usable(r, "ContainerConsumer creation")
	if err != nil {
		return err
	}
	c, err := readConsumer(r)
	if err != nil {
		return err
	}
	c.project, c.created, c.updated = wire.Caller(r.Context()).ProjectID, s.now(), s.now()
	x.register(c)
	w.Header().Set("Location", ref(r, "consumers", x.id)+"/consumers")
	wire.JSON(w, http.StatusOK, x.describe(r))
	return nil
}

// register adds the consumer, unless it is registered already.
func (x *container) register(c consumer) {
	if !slices.ContainsFunc(x.consumers, c.same) {
		x.consumers = append(x.consumers, c)
	}
}

func (s *Service) deleteConsumer(w http.ResponseWriter, r *http.Request) error {
	x, err := s.usable(r, "ContainerConsumer deletion")
	if err != nil {
		return err
	}
	c, err := readConsumer(r)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(x.consumers, c.same)
	if at < 0 {
		return notFound("Consumer not found.")
	}
	if who := wire.Caller(r.Context()); x.consumers[at].project != who.ProjectID && !x.in(who) {
		return refused(http.StatusForbidden, "Not Allowed. Sorry, only the creator of a consumer can delete it.")
	}
	x.consumers = slices.Delete(x.consumers, at, at+1)
	wire.JSON(w, http.StatusOK, x.describe(r))
	return nil
}
