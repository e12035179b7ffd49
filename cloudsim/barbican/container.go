// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// container holds references to secrets under names.
type container struct {
	object
	name      any // a string, or nil
	kind      string
	refs      []secretRef
	consumers []consumer
}

type secretRef struct {
	name     any // a string, or nil
	secretID string
}

// consumer is a client that has registered its use of a container.
type consumer struct {
	name, url        string
	project          string
	created, updated time.Time
}

// namesIn has, for each type of container, the names that its secrets must have and those that they
// may have. Generic containers accept any name.
var namesIn = map[string]struct {
	required, optional []string
	unsupported        string
	missing            string
}{
	"certificate": {
		[]string{"certificate"}, []string{"private_key", "private_key_passphrase", "intermediates"},
		"only 'private_key', 'certificate' , 'private_key_passphrase',  or 'intermediates' reference names are allowed for Certificate type",
		"The minimum required reference name is 'certificate' for Certificate type",
	},
	"rsa": {
		[]string{"public_key", "private_key"}, []string{"private_key_passphrase"},
		"only 'private_key', 'public_key' and 'private_key_passphrase' reference names are allowed for RSA type",
		"The minimum required reference names are 'public_key' and'private_key' for RSA type",
	},
}

// findContainer returns the container in the path.
func (s *Service) findContainer(r *http.Request) (*container, error) {
	id := r.PathValue("id")
	if uuid.Validate(id) != nil {
		return nil, notFound("Not Found. Provided container id is invalid.")
	}
	if x := s.container(id); x != nil {
		return x, nil
	}
	return nil, notFound("Secrets container not found.")
}

func (s *Service) postContainer(w http.ResponseWriter, r *http.Request) error {
	who := wire.Caller(r.Context())
	if !s.policy.mayCreate(who) {
		return notAllowed("Container creation")
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	x, err := newContainer(r, body)
	if err != nil {
		return err
	}
	for _, held := range x.refs {
		if y := s.secret(held.secretID); y == nil || !y.in(who) {
			name, _ := held.name.(string)
			return notFound("Secret provided for '" + name + "' doesn't exist.")
		}
	}
	x.object = s.newObject(who)
	s.containers = append(s.containers, x)
	w.Header().Set("Location", ref(r, "containers", x.id))
	wire.JSON(w, http.StatusCreated, map[string]string{"container_ref": ref(r, "containers", x.id)})
	return nil
}

// newContainer makes a container from the body of a request.
func newContainer(r *http.Request, body map[string]any) (*container, error) {
	kind, given := body["type"].(string)
	switch {
	case !given:
		return nil, unfit("Container", "None", "'type' is a required property")
	case kind != "generic" && namesIn[kind].required == nil:
		return nil, unfit("Container", "type", "'%s' is not one of ['generic', 'rsa', 'certificate']", kind)
	}
	x := &container{kind: kind, name: body["name"]}
	references, _ := body["secret_refs"].([]any)
	for _, item := range references {
		held, _ := item.(map[string]any)
		reference, _ := held["secret_ref"].(string)
		if reference == "" {
			return nil, unfit("Container", "secret_refs", "'secret_ref' is a required property")
		}
		if !strings.HasPrefix(reference, "http://"+r.Host) {
			return nil, refused(http.StatusBadRequest, "Provided field value is not supported")
		}
		x.refs = append(x.refs, secretRef{held["name"], idOf(reference)})
	}
	return x, x.check()
}

// check checks the names and ids of the secrets.
func (x *container) check() error {
	var names []string
	for i, held := range x.refs {
		name, _ := held.name.(string)
		if slices.Contains(names, name) {
			return unfit("Container", "secret_refs", "Duplicate reference names are not allowed")
		}
		names = append(names, name)
		if slices.ContainsFunc(x.refs[:i], func(other secretRef) bool { return other.secretID == held.secretID }) {
			return unfit("Container", "secret_refs", "Duplicate secret ids are not allowed")
		}
	}
	rule, bound := namesIn[x.kind]
	if !bound || len(names) == 0 {
		return nil
	}
	for _, name := range names {
		if !slices.Contains(rule.required, name) && !slices.Contains(rule.optional, name) {
			return unfit("Container", "secret_refs", "%s", rule.unsupported)
		}
	}
	for _, name := range rule.required {
		if !slices.Contains(names, name) {
			return unfit("Container", "secret_refs", "%s", rule.missing)
		}
	}
	return nil
}

func (x *container) describe(r *http.Request) map[string]any {
	refs, consumers := []any{}, []any{}
	for _, held := range x.refs {
		refs = append(refs, map[string]any{"name": held.name, "secret_ref": ref(r, "secrets", held.secretID)})
	}
	for _, c := range x.consumers {
		consumers = append(consumers, map[string]string{"name": c.name, "URL": c.url})
	}
	return map[string]any{
		"created": timestamp(x.created), "updated": timestamp(x.updated), "status": "ACTIVE", "name": x.name, "type": x.kind,
		"creator_id": x.creator, "secret_refs": refs, "consumers": consumers, "container_ref": ref(r, "containers", x.id),
	}
}

func (s *Service) listContainers(w http.ResponseWriter, r *http.Request) error {
	who, query := wire.Caller(r.Context()), r.URL.Query()
	if !s.policy.mayList(who) {
		return notAllowed("Containers(s) retrieval")
	}
	items := []any{}
	for _, x := range s.containers {
		name, kind := query.Get("name"), query.Get("type")
		if x.in(who) && (name == "" || name == x.name) && (kind == "" || kind == x.kind) {
			items = append(items, x.describe(r))
		}
	}
	writePage(w, r, "containers", "containers", items, nil)
	return nil
}

func (s *Service) getContainer(w http.ResponseWriter, r *http.Request) error {
	x, err := s.findContainer(r)
	if err != nil {
		return err
	}
	if !s.policy.mayRead(&x.object, wire.Caller(r.Context()), false) {
		return notAllowed("Container retrieval")
	}
	wire.JSON(w, http.StatusOK, x.describe(r))
	return nil
}

// deleteContainer deletes a container, even if it is in use. Its secrets stay.
func (s *Service) deleteContainer(w http.ResponseWriter, r *http.Request) error {
	x, err := s.findContainer(r)
	if err != nil {
		return err
	}
	if !s.policy.mayDeleteContainer(&x.object, wire.Caller(r.Context())) {
		return notAllowed("Container deletion")
	}
	s.containers = slices.DeleteFunc(s.containers, func(other *container) bool { return other == x })
	w.WriteHeader(http.StatusNoContent)
	return nil
}
