// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// routeTags serves the tags of one kind of resource, under each object.
func (s *Service) routeTags(mux *http.ServeMux, res *resource) {
	all := "/v2.0/" + res.path + "/{id}/tags"
	one := all + "/{tag}"
	mux.HandleFunc("GET "+all, s.tags(res, false, func(w http.ResponseWriter, _ *http.Request, std *standard) error {
		wire.JSON(w, http.StatusOK, map[string]any{"tags": std.tags})
		return nil
	}))
	mux.HandleFunc("PUT "+all, s.tags(res, true, func(w http.ResponseWriter, r *http.Request, std *standard) error {
		return s.replaceTags(res, w, r, std)
	}))
	mux.HandleFunc("DELETE "+all, s.tags(res, true, func(w http.ResponseWriter, _ *http.Request, std *standard) error {
		std.tags = []string{}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
	mux.HandleFunc("GET "+one, s.tags(res, false, func(w http.ResponseWriter, r *http.Request, std *standard) error {
		if !slices.Contains(std.tags, r.PathValue("tag")) {
			return tagMissing(r.PathValue("tag"))
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
	mux.HandleFunc("PUT "+one, s.tags(res, true, func(w http.ResponseWriter, r *http.Request, std *standard) error {
		tag, reason := isString(255)(r.PathValue("tag"))
		if reason != "" {
			return invalidInput("%s", reason)
		}
		if !slices.Contains(std.tags, tag.(string)) {
			if err := s.checkTagLimit(res, len(std.tags)+1); err != nil {
				return err
			}
			std.tags = append(slices.Clip(std.tags), tag.(string))
		}
		wire.JSON(w, http.StatusCreated, nil)
		return nil
	}))
	mux.HandleFunc("DELETE "+one, s.tags(res, true, func(w http.ResponseWriter, r *http.Request, std *standard) error {
		at := slices.Index(std.tags, r.PathValue("tag"))
		if at < 0 {
			return tagMissing(r.PathValue("tag"))
		}
		std.tags = slices.Delete(slices.Clone(std.tags), at, at+1)
		w.WriteHeader(http.StatusNoContent)
		return nil
	}))
}

func tagMissing(tag string) *apiError {
	return notFound("TagNotFound", "Tag %s could not be found.", tag)
}

// maxTags is the limit of tags per object since 2025.1; before, there was none.
const maxTags = 50

func (s *Service) checkTagLimit(res *resource, tags int) error {
	if s.options.Release >= release.Epoxy && tags > maxTags {
		return badRequest(res.many, "The number of tags exceed the per-resource limit of %d", maxTags)
	}
	return nil
}

// tags runs do with the object that the path names, with the lock held.
func (s *Service) tags(res *resource, changing bool, do func(http.ResponseWriter, *http.Request, *standard) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.PathValue("tag"), "/") { // the real service splits the path there, quoted or not
			NotFound(w, r)
			return
		}
		err := s.change(func() error {
			id := r.PathValue("id")
			c := wire.Caller(r.Context())
			o, mine := res.find(c, id)
			if o == nil && s.options.Release >= release.Epoxy {
				if existing, _ := res.find(wire.Identity{Roles: []string{"admin"}}, id); existing == nil {
					return errInternal
				}
			}
			if o == nil || changing && !mine {
				return notFound("TagResourceNotFound", "Resource %s %s could not be found.", res.many, id)
			}
			if changing && !s.mayWrite(c) {
				action := map[string]string{http.MethodPut: "update", http.MethodDelete: "delete"}[r.Method]
				return forbidden("rule:" + action + "_" + res.one + ":tags")
			}
			if changing && slices.ContainsFunc(eTags(r), func(t string) bool { return strings.HasPrefix(t, "revision_number=") }) {
				return errInternal // regardless of the revision
			}
			before := o.attributes().tags
			if err := do(w, r, o.attributes()); err != nil {
				return err
			}
			if !slices.Equal(before, o.attributes().tags) {
				s.touch(o)
			}
			return nil
		})
		if err != nil {
			writeError(w, err)
		}
	}
}

func (s *Service) replaceTags(res *resource, w http.ResponseWriter, r *http.Request, std *standard) error {
	var body map[string]any
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return badBody("Body contains invalid data")
	}
	if body["tags"] == nil {
		return invalidInput("Invalid tags body")
	}
	tags, reason := isTags(body["tags"])
	if reason != "" {
		return invalidInput("%s", reason)
	}
	if err := s.checkTagLimit(res, len(tags.([]string))); err != nil {
		return err
	}
	std.tags = tags.([]string)
	wire.JSON(w, http.StatusOK, map[string]any{"tags": std.tags})
	return nil
}
