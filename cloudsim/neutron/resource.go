// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"cmp"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// object is any object of the state.
type object interface{ attributes() *standard }

// resource is one kind of object in the API. Its functions are called with the lock held.
type resource struct {
	// one and many name the resource in bodies, path in URLs.
	one, many, path string
	attributes      attributes
	taggable        bool
	// startsOver means that a list whose marker does not exist starts from the beginning; for other
	// resources it is refused.
	startsOver bool
	// single means that one request can create only one object.
	single bool
	// missing returns the refusal of an id that does not exist or is not visible.
	missing func(id string) *apiError
	// together refuses items that one request cannot create together; may be nil.
	together func(items []values) error
	// find returns the object if the caller may see it, and whether the caller
	// may also change it.
	find func(c wire.Identity, id string) (o object, mine bool)
	// admit refuses an item before its quota is checked; may be nil.
	admit func(c wire.Identity, v values) error
	// add creates an object in project v["project_id"] and returns its id.
	add func(c wire.Identity, v values) (string, error)
	// check refuses a change before the required revision is compared. It returns errUnchanged if
	// the object is already as requested and keeps its revision. May be nil.
	check func(id string, v values) error
	// set changes an object that the caller may change.
	set func(c wire.Identity, id string, v values) error
	// remove deletes an object that the caller may change.
	remove func(c wire.Identity, id string) error
	// show returns the JSON form of an object, showNew that in the answer to its creation; nil
	// means show.
	show, showNew func(c wire.Identity, id string) any
	// list returns a function that writes the list of the objects that the caller may see; it is
	// called without the lock.
	list func(c wire.Identity, r *http.Request) func(w http.ResponseWriter)
}

func (s *Service) listing(res *resource) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := res.attributes.query(r.URL.Query()); err != nil {
			writeError(w, err)
			return
		}
		s.mu.Lock()
		write := res.list(wire.Caller(r.Context()), r)
		s.mu.Unlock()
		write(w)
	}
}

func (s *Service) showing(res *resource) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, id := wire.Caller(r.Context()), r.PathValue("id")
		s.mu.Lock()
		defer s.mu.Unlock()
		if o, _ := res.find(c, id); o == nil {
			writeError(w, res.missing(id))
			return
		}
		wire.JSON(w, http.StatusOK, map[string]any{res.one: wire.Project(r, res.show(c, id))})
	}
}

func (s *Service) creating(res *resource) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c := wire.Caller(r.Context())
		items, bulk, err := res.attributes.body(r, res.one, res.many, true)
		if err == nil && bulk && res.single {
			err = badBody("Bulk operation not supported")
		}
		if err != nil {
			writeError(w, err)
			return
		}
		var made []any
		err = s.change(func() error {
			ids, err := s.addAll(res, c, items)
			for _, id := range ids {
				if res.showNew != nil {
					made = append(made, res.showNew(c, id))
					continue
				}
				made = append(made, res.show(c, id))
			}
			return err
		})
		switch {
		case err != nil:
			writeError(w, err)
		case bulk:
			wire.JSON(w, http.StatusCreated, map[string]any{res.many: made})
		default:
			wire.JSON(w, http.StatusCreated, map[string]any{res.one: made[0]})
		}
	}
}

// addAll creates all of the items or none.
func (s *Service) addAll(res *resource, c wire.Identity, items []values) (ids []string, err error) {
	if res.together != nil && len(items) > 1 {
		if err := res.together(items); err != nil {
			return nil, err
		}
	}
	for _, v := range items {
		id, err := s.addOne(res, c, v)
		if err != nil {
			for _, id := range slices.Backward(ids) {
				if undo := res.remove(c, id); undo != nil {
					return nil, undo
				}
			}
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (s *Service) addOne(res *resource, c wire.Identity, v values) (string, error) {
	if v["project_id"] == nil {
		v["project_id"] = c.ProjectID
	}
	if v.text("project_id") != c.ProjectID && !c.Admin() {
		if s.options.Release >= release.Newest {
			return "", badBody("Specifying 'project_id' other than the authenticated project in request is not allowed for the current user.")
		}
		return "", badBody("Specifying 'project_id' or 'tenant_id' other than the authenticated project in request requires admin or advsvc privileges")
	}
	if res.admit != nil {
		if err := res.admit(c, v); err != nil {
			return "", err
		}
	}
	if err := s.checkQuota(v.text("project_id"), res.one, 1); err != nil {
		return "", err
	}
	if !s.mayWrite(c) {
		return "", forbidden("rule:create_" + res.one)
	}
	if err := res.attributes.allow(c.Admin(), "create_"+res.one, v); err != nil {
		return "", err
	}
	return res.add(c, v)
}

func (s *Service) updating(res *resource) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, id := wire.Caller(r.Context()), r.PathValue("id")
		items, _, err := res.attributes.body(r, res.one, res.many, false)
		wanted, unreadable := s.boundTo(r)
		err = cmp.Or(err, unreadable)
		if err != nil {
			writeError(w, err)
			return
		}
		var changed any
		err = s.change(func() error {
			if _, err := s.mine(res, c, id, "update_"); err != nil {
				return err
			}
			if err := res.attributes.allow(c.Admin(), "update_"+res.one, items[0]); err != nil {
				return err
			}
			err := s.update(res, c, id, wanted, items[0])
			if err != nil && !errors.Is(err, errUnchanged) {
				return err
			}
			changed = res.show(c, id)
			return nil
		})
		if err != nil {
			writeError(w, err)
			return
		}
		wire.JSON(w, http.StatusOK, map[string]any{res.one: changed})
	}
}

// update changes an object, if the caller may do so and if something differs.
func (s *Service) update(res *resource, c wire.Identity, id string, wanted revision, v values) error {
	o, _ := res.find(c, id)
	if res.check != nil {
		if err := res.check(id, v); err != nil {
			return err
		}
	}
	if err := match(wanted, o); err != nil {
		return err
	}
	if err := res.set(c, id, v); err != nil {
		return err
	}
	v.set("description", &o.attributes().description)
	s.touch(o)
	return nil
}

func (s *Service) deleting(res *resource) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c, id := wire.Caller(r.Context()), r.PathValue("id")
		err := s.change(func() error {
			o, err := s.mine(res, c, id, "delete_")
			if err != nil {
				return err
			}
			wanted, err := s.boundTo(r)
			if err == nil {
				err = match(wanted, o)
			}
			if err != nil {
				return err
			}
			return res.remove(c, id)
		})
		if err != nil {
			writeError(w, err)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// mine returns an object that the caller wants to change, if it may.
func (s *Service) mine(res *resource, c wire.Identity, id, action string) (object, error) {
	o, mine := res.find(c, id)
	switch {
	case o == nil:
		return nil, res.missing(id)
	case !mine, !s.mayWrite(c):
		return nil, forbidden("rule:" + action + res.one)
	}
	return o, nil
}

// errUnchanged means that an update changes nothing.
var errUnchanged = errors.New("unchanged")

var quotedETag = regexp.MustCompile(`(?:^|\s)"((?:\\"|.)*?)"`)

// eTags returns the tags of the header If-Match: those in quotation marks, or the whole value.
func eTags(r *http.Request) []string {
	value := r.Header.Get("If-Match")
	var tags []string
	for _, match := range quotedETag.FindAllStringSubmatch(value, -1) {
		tags = append(tags, match[1])
	}
	if tags == nil {
		tags = append(tags, value)
	}
	return tags
}

// revision is the revision that a change requires; nil means any.
type revision *int

// boundTo reads the revision that a request requires: If-Match: revision_number=N.
func (s *Service) boundTo(r *http.Request) (revision, error) {
	var wanted revision
	for _, etag := range eTags(r) {
		number, ok := strings.CutPrefix(etag, "revision_number=")
		if !ok {
			continue
		}
		if wanted != nil {
			return nil, badRequest("if-match", "Multiple revision_number etags are not supported.")
		}
		if !s.has("revision-if-match") {
			return nil, badRequest("if-match", "This server does not support constraining operations based on revision numbers")
		}
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil, badRequest("if-match", "Revision number etag must be in the format of revision_number=<int>")
		}
		wanted = &n
	}
	return wanted, nil
}

// match refuses a change that requires another revision of the object.
func match(wanted revision, o object) error {
	if current := o.attributes().revision; wanted != nil && *wanted != current {
		return refuse(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed", "Constrained to %d, but current revision is %d", *wanted, current)
	}
	return nil
}

// writeList returns a function that writes a list of views. extra implements the filters that only
// this resource has; it may be nil.
func writeList[T view](res *resource, maxPage int, r *http.Request, views []T, extra func(v T, key string, values []string) (match, known bool)) func(http.ResponseWriter) {
	collection := wire.Collection[T]{
		Key: res.many, MaxLimit: maxPage,
		ID: func(v T) string { return v.base().ID },
		Filter: func(v T, key string, values []string) (bool, bool) {
			if key == "changed_since" {
				since, err := time.Parse("2006-01-02T15:04:05", strings.TrimSuffix(values[0], "Z"))
				return err == nil && !v.base().updated.Before(since), true
			}
			if extra == nil {
				return false, false
			}
			return extra(v, key, values)
		},
		BadMarker: func(w http.ResponseWriter, marker string) { writeError(w, res.missing(marker)) },
		BadQuery:  func(w http.ResponseWriter, message string) { writeError(w, badBody("%s", message)) },
	}
	marker := r.URL.Query().Get("marker")
	if res.startsOver && !slices.ContainsFunc(views, func(v T) bool { return v.base().ID == marker }) {
		r = withoutMarker(r)
	}
	return func(w http.ResponseWriter) { collection.Write(w, r, views) }
}

func withoutMarker(r *http.Request) *http.Request {
	r = r.Clone(r.Context())
	query := r.URL.Query()
	query.Del("marker")
	r.URL.RawQuery = query.Encode()
	return r
}
