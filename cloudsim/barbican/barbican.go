// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package barbican simulates OpenStack's key manager, Barbican v1: secrets with
// their payloads, containers that hold references to secrets, consumers, and ACLs. The simulated
// Octavia reads certificates from it. It imports only packages release and wire.
package barbican

import (
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Options configure a Service.
type Options struct {
	// Now returns the current time; nil means time.Now.
	Now func() time.Time
	// Release is the release of OpenStack that is simulated.
	Release release.Release
}

// Service is Barbican. It is safe for concurrent use.
type Service struct {
	now     func() time.Time
	release release.Release
	policy  policy

	mu         sync.Mutex
	secrets    []*secret
	containers []*container
}

// object is what secrets and containers have in common.
type object struct {
	id, project, creator string
	created, updated     time.Time
	acl                  *acl // nil: the default ACL; the project may read
}

// New returns an empty Barbican.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{now: o.Now, release: o.Release, policy: policy{members: o.Release >= release.Newest}}
}

// Counts returns the number of objects of each kind.
func (s *Service) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return map[string]int{"secrets": len(s.secrets), "containers": len(s.containers)}
}

// Mux returns Barbican's routes.
func (s *Service) Mux() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", listVersions)
	for pattern, handle := range map[string]handler{
		"GET /v1/secrets":                      s.listSecrets,
		"POST /v1/secrets":                     s.postSecret,
		"GET /v1/secrets/{id}":                 s.getSecret,
		"PUT /v1/secrets/{id}":                 s.putPayload,
		"DELETE /v1/secrets/{id}":              s.deleteSecret,
		"GET /v1/secrets/{id}/payload":         s.getPayload,
		"GET /v1/secrets/{id}/metadata":        s.getMetadata,
		"PUT /v1/secrets/{id}/metadata":        s.putMetadata,
		"GET /v1/secrets/{id}/acl":             s.ofSecret(s.getACL),
		"PUT /v1/secrets/{id}/acl":             s.ofSecret(s.changeACL),
		"PATCH /v1/secrets/{id}/acl":           s.ofSecret(s.changeACL),
		"DELETE /v1/secrets/{id}/acl":          s.ofSecret(s.deleteACL),
		"GET /v1/containers":                   s.listContainers,
		"POST /v1/containers":                  s.postContainer,
		"GET /v1/containers/{id}":              s.getContainer,
		"DELETE /v1/containers/{id}":           s.deleteContainer,
		"GET /v1/containers/{id}/consumers":    s.listConsumers,
		"POST /v1/containers/{id}/consumers":   s.postConsumer,
		"DELETE /v1/containers/{id}/consumers": s.deleteConsumer,
		"GET /v1/containers/{id}/acl":          s.ofContainer(s.getACL),
		"PUT /v1/containers/{id}/acl":          s.ofContainer(s.changeACL),
		"PATCH /v1/containers/{id}/acl":        s.ofContainer(s.changeACL),
		"DELETE /v1/containers/{id}/acl":       s.ofContainer(s.deleteACL),
	} {
		mux.Handle(pattern, s.locked(handle))
		mux.Handle(pattern+"/{$}", s.locked(handle)) // the path that Barbican's own client uses
	}
	return mux
}

// Public reports whether a route needs no token: only the version document.
func Public(route string) bool { return route == "/" }

// Unnumbered reports whether an answer has no request id. Before the newest release Barbican assigns the id only after
// it has authenticated the caller; since then a separate filter assigns it first.
func (s *Service) Unnumbered(route string, refused bool) bool {
	return s.release < release.Newest && (refused || Public(route))
}

// handler answers a request, or returns the reason why it is refused.
type handler func(w http.ResponseWriter, r *http.Request) error

// locked handles one request at a time, and answers in the requested microversion.
func (s *Service) locked(handle handler) http.Handler {
	return versioned(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if err := handle(w, r); err != nil {
			refuse(w, err)
		}
	})
}

func (s *Service) newObject(who wire.Identity) object {
	now := s.now()
	return object{id: uuid.NewString(), project: who.ProjectID, creator: who.UserID, created: now, updated: now}
}

// ref returns the URL of an object, with the host of the request.
func ref(r *http.Request, collection, id string) string {
	return "http://" + r.Host + "/v1/" + collection + "/" + id
}

// idOf returns the id at the end of a reference.
func idOf(reference string) string { return path.Base(strings.TrimRight(reference, "/")) }

// secret returns the secret with the id, or nil if there is none or it has expired.
func (s *Service) secret(id string) *secret {
	i := slices.IndexFunc(s.secrets, func(x *secret) bool { return x.id == id && !x.expired(s.now()) })
	if i < 0 {
		return nil
	}
	return s.secrets[i]
}

func (s *Service) container(id string) *container {
	i := slices.IndexFunc(s.containers, func(x *container) bool { return x.id == id })
	if i < 0 {
		return nil
	}
	return s.containers[i]
}

// timestamp writes a time as Barbican does: in UTC, without a zone.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
