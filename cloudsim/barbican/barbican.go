// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package barbican simulates OpenStack's key manager, Barbican v1: secrets with
// their payloads, containers that hold references to secrets, who uses them and
// who may read them. It lets the simulated Octavia read certificates. It imports
// only packages release and wire.
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

// Options are what New makes a Service of.
type Options struct {
	// Now tells the time; nil means time.Now.
	Now func() time.Time
	// Release is the release of OpenStack that is played.
	Release release.Release
}

// Service is Barbican. It is used by many goroutines.
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
	acl                  *acl // nil: that of all, the project may read
}

// New makes a Barbican that holds nothing yet.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Service{now: o.Now, release: o.Release, policy: policy{members: o.Release >= release.Newest}}
}

// Counts returns how many objects of each kind there are.
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
		mux.Handle(pattern+"/{$}", s.locked(handle)) // as Barbican's own client asks
	}
	return mux
}

// Public tells which routes need no token: the version document.
func Public(route string) bool { return route == "/" }

// Unnumbered reports which answers bear no request id. Before the newest release Barbican gives ids to requests only after it
// knows who sent them; since then a filter of its own does so first.
func (s *Service) Unnumbered(route string, refused bool) bool {
	return s.release < release.Newest && (refused || Public(route))
}

// handler answers a request, or returns why not.
type handler func(w http.ResponseWriter, r *http.Request) error

// locked makes requests one after the other, and answers in the microversion
// that is asked for.
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

// ref is the URL of an object under the host that was asked.
func ref(r *http.Request, collection, id string) string {
	return "http://" + r.Host + "/v1/" + collection + "/" + id
}

// idOf is the id at the end of a reference.
func idOf(reference string) string { return path.Base(strings.TrimRight(reference, "/")) }

// secret returns the secret with the id, nil if there is none or it expired.
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

// timestamp writes a time as Barbican does: UTC without saying so.
func timestamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05") }
