// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// attribute describes what clients may do with one attribute of a resource.
type attribute struct {
	// post and put allow it in a create and an update; required makes it mandatory in a create;
	// filter and sort allow it in the query of a list.
	post, put, required, filter, sort bool
	// adminOnly means that only admins may set it to anything but its zero value.
	adminOnly bool
	// check converts the value, or returns what is wrong with it; nil accepts any value.
	check check
}

// values are the converted attributes of a request, by name. Attributes that the client did not
// send are missing; null is nil.
type values map[string]any

func (v values) has(name string) bool { _, ok := v[name]; return ok }

func (v values) text(name string) string { s, _ := v[name].(string); return s }

func (v values) flag(name string, otherwise bool) bool {
	if b, ok := v[name].(bool); ok {
		return b
	}
	return otherwise
}

// set copies a string attribute to a variable, if the client sent it.
func (v values) set(name string, to *string) {
	if v.has(name) {
		*to = v.text(name)
	}
}

func (v values) setFlag(name string, to *bool) { *to = v.flag(name, *to) }

type attributes map[string]attribute

// withStandard adds the attributes of all resources.
func withStandard(own attributes) attributes {
	all := attributes{
		"id":              {filter: true, sort: true},
		"tenant_id":       {post: true, filter: true, sort: true, check: isString(255)},
		"project_id":      {post: true, filter: true, sort: true, check: isString(255)},
		"description":     {post: true, put: true, filter: true, sort: true, check: isString(255)},
		"tags":            {filter: true},
		"tags-any":        {filter: true},
		"not-tags":        {filter: true},
		"not-tags-any":    {filter: true},
		"revision_number": {filter: true, sort: true},
		"created_at":      {},
		"updated_at":      {},
		"changed_since":   {filter: true},
	}
	maps.Copy(all, own)
	return all
}

// body reads a request's body: one item, or with bulk several.
func (a attributes) body(r *http.Request, one, many string, create bool) (items []values, bulk bool, err error) {
	raw, readErr := io.ReadAll(r.Body)
	if readErr != nil {
		return nil, false, badBody("Body contains invalid data")
	}
	var outer map[string]any
	if len(raw) > 0 && json.Unmarshal(raw, &outer) != nil {
		return nil, false, badBody("Body contains invalid data")
	}
	if len(raw) == 0 {
		return nil, false, badBody("Resource body required")
	}
	if list, ok := outer[many].([]any); ok {
		if !create {
			return nil, false, badBody("Bulk operation not supported")
		}
		if len(list) == 0 {
			return nil, false, badBody("Resources required")
		}
		for _, each := range list {
			if wrapped, ok := each.(map[string]any); ok && wrapped[one] != nil {
				each = wrapped[one]
			}
			v, err := a.read(each, one, create)
			if err != nil {
				return nil, false, err
			}
			items = append(items, v)
		}
		return items, true, nil
	}
	if outer[one] == nil {
		return nil, false, badBody("Unable to find '%s' in request body", one)
	}
	v, err := a.read(outer[one], one, create)
	return []values{v}, false, err
}

// read checks and converts the attributes of one item.
func (a attributes) read(item any, one string, create bool) (values, error) {
	v, ok := item.(map[string]any)
	if !ok {
		return nil, badBody("Object '%s' contains invalid data", one)
	}
	if v["project_id"] != nil && v["tenant_id"] != nil && v["project_id"] != v["tenant_id"] {
		return nil, badBody("'project_id' and 'tenant_id' do not match")
	}
	if v["project_id"] == nil && v["tenant_id"] != nil {
		v["project_id"] = v["tenant_id"]
	}
	delete(v, "tenant_id")
	names := slices.Sorted(maps.Keys(v))
	if unknown := slices.DeleteFunc(slices.Clone(names), func(n string) bool { _, ok := a[n]; return ok }); len(unknown) > 0 {
		return nil, badBody("Unrecognized attribute(s) '%s'", strings.Join(unknown, ", "))
	}
	for _, name := range names {
		switch {
		case create && !a[name].post:
			return nil, badBody("Attribute '%s' not allowed in POST", name)
		case !create && !a[name].put:
			return nil, badBody("Cannot update read-only attribute %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if create && a[name].required && !values(v).has(name) {
			return nil, badBody("Failed to parse request. Required attribute '%s' not specified", name)
		}
	}
	for _, name := range names {
		if a[name].check == nil {
			continue
		}
		converted, reason := a[name].check(v[name])
		switch {
		case isUnconvertible(reason):
			return nil, invalidInput("%s", reason)
		case reason != "":
			return nil, badBody("Invalid input for %s. Reason: %s.", name, reason)
		}
		v[name] = converted
	}
	return v, nil
}

// isUnconvertible reports whether a value fails when the real service converts it, not when it
// checks it: the messages differ.
func isUnconvertible(reason string) bool {
	return strings.HasSuffix(reason, "' cannot be converted to boolean") || strings.HasSuffix(reason, "' is not an integer")
}

// allow refuses attributes that only admins may set.
func (a attributes) allow(admin bool, action string, v values) error {
	if admin {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if set := v[name] != nil && v[name] != false && v[name] != ""; set && a[name].adminOnly {
			return forbiddenAttribute(action, name)
		}
	}
	return nil
}

var notFilters = []string{"fields", "sort_key", "sort_dir", "limit", "marker", "page_reverse"}

// query refuses a list's query whose filters or sort keys the resource does not have.
func (a attributes) query(q url.Values) error {
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(q)) {
		if !slices.Contains(notFilters, key) && !a[key].filter {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		return badBody("%s is invalid attribute for filtering", pythonList(unknown))
	}
	for _, key := range slices.Sorted(maps.Keys(q)) {
		for _, value := range q[key] {
			if c := a[key].check; c != nil && value != "" {
				if _, reason := c(value); isUnconvertible(reason) {
					return invalidInput("%s", reason)
				}
			}
		}
	}
	if n, err := strconv.Atoi(q.Get("limit")); q.Get("limit") != "" && (err != nil || n < 0) {
		return badRequest("limit", "Limit must be an integer 0 or greater and not '%s'", q.Get("limit"))
	}
	if len(q["sort_key"]) != len(q["sort_dir"]) {
		return badBody("The number of sort_keys and sort_dirs must be same")
	}
	for _, key := range q["sort_key"] {
		if !a[key].sort {
			return badBody("%s is invalid attribute for sort_keys", pythonList([]string{key}))
		}
	}
	for _, dir := range q["sort_dir"] {
		if dir != "asc" && dir != "desc" {
			return badBody("%s is invalid value for sort_dirs, valid value is 'asc' and 'desc'", pythonList([]string{dir}))
		}
	}
	return nil
}

func pythonList(items []string) string {
	return "['" + strings.Join(items, "', '") + "']"
}

// shown returns a value as the real service's messages show it.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case float64, string:
		return fmt.Sprint(v)
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(encoded)
}
