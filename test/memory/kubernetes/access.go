// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The kinds of what a user asks about itself.
const (
	reviewOfSelf   = "SelfSubjectReview"
	reviewOfAccess = "SelfSubjectAccessReview"
)

// Access has the rights of users.
type Access struct {
	// Token is the bearer token of the user; "" admits every request.
	Token string
	// User is the name of the user.
	User string
	// Denies reports whether the user may not do something; nil means that the user may do everything.
	Denies func(authorizationv1.ResourceAttributes) bool
}

// admits reports whether the request has the token.
func (a Access) admits(r *http.Request) bool {
	return a.Token == "" || r.Header.Get("Authorization") == "Bearer "+a.Token
}

func (a Access) denies(what authorizationv1.ResourceAttributes) bool {
	return a.Denies != nil && a.Denies(what)
}

// verbs are those of requests that are no GET and no DELETE.
var verbs = map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch"}

// verb returns what the request does, as rules of RBAC name it.
func verb(r *http.Request, t target) string {
	switch {
	case r.Method == http.MethodGet && t.name != "":
		return "get"
	case r.Method == http.MethodGet && r.URL.Query().Has("watch"):
		return "watch"
	case r.Method == http.MethodGet:
		return "list"
	case r.Method == http.MethodDelete && t.name == "":
		return "deletecollection"
	case r.Method == http.MethodDelete:
		return "delete"
	}
	return verbs[r.Method]
}

// authorize returns an error if the user may not do what the request does.
func (a Access) authorize(r *http.Request, t target) error {
	what := authorizationv1.ResourceAttributes{Verb: verb(r, t), Group: t.resource.group, Resource: t.resource.name, Subresource: t.subresource, Namespace: t.namespace, Name: t.name}
	if !a.denies(what) {
		return nil
	}
	where := "at the cluster scope"
	if t.namespace != "" {
		where = fmt.Sprintf("in the namespace %q", t.namespace)
	}
	// The text is the API server's, with its capital letter.
	reason := fmt.Sprintf("User %q cannot %s resource %q in API group %q %s", a.User, what.Verb, what.Resource, what.Group, where)
	return apierrors.NewForbidden(t.resource.groupResource(), t.name, errors.New(reason))
}

// review answers what a user asks about itself.
func (a *API) review(w http.ResponseWriter, r *http.Request, t target) {
	if r.Method != http.MethodPost || t.name != "" {
		fail(w, apierrors.NewMethodNotSupported(t.resource.groupResource(), r.Method))
		return
	}
	asked, err := decode(r)
	if err != nil {
		fail(w, err)
		return
	}
	asked["apiVersion"], asked["kind"] = t.resource.groupVersion().String(), t.resource.kind
	if t.resource.kind == reviewOfSelf {
		asked["status"] = authenticationv1.SelfSubjectReviewStatus{UserInfo: authenticationv1.UserInfo{Username: a.Access.User}}
		write(w, http.StatusCreated, asked)
		return
	}
	var spec authorizationv1.SelfSubjectAccessReviewSpec
	text, err := json.Marshal(asked["spec"])
	if err == nil {
		err = json.Unmarshal(text, &spec)
	}
	if err != nil || spec.ResourceAttributes == nil {
		fail(w, apierrors.NewBadRequest("spec.resourceAttributes is missing"))
		return
	}
	asked["status"] = authorizationv1.SubjectAccessReviewStatus{Allowed: !a.Access.denies(*spec.ResourceAttributes)}
	write(w, http.StatusCreated, asked)
}
