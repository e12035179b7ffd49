// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// Files of the audit log in the cluster's directory.
const (
	auditPolicyFile = "audit-policy.yaml"
	auditLogFile    = "audit.log"
)

// Request is what kube-apiserver recorded of a request: who wanted to do what,
// and what came of it.
type Request struct {
	User, Verb            string
	Group, Resource       string
	Subresource           string
	Namespace, Name, Path string
	// Status is that of the answer; for a watch, that of its beginning.
	Status int
	// Unauthorized is whether the user has no right to do this. Not every status 403 means that: a
	// namespace that is being deleted takes no new objects from any user.
	Unauthorized bool
}

// Requests returns the requests of the users in Options.Audited, in the order of
// their answers. A request may be recorded a moment after its client has the
// answer.
func (c *Cluster) Requests() ([]Request, error) {
	file, err := os.Open(filepath.Join(c.dir, auditLogFile))
	if err != nil {
		return nil, fmt.Errorf("read the audit log, which exists only if Options.Audited names a user: %w", err)
	}
	defer file.Close()
	var requests []Request
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return requests, nil // the end, or a line that is still being written
		}
		r, ok, err := parseAudit(line)
		if err != nil {
			return nil, fmt.Errorf("audit log of kube-apiserver: %w in %s", err, line)
		}
		if ok {
			requests = append(requests, r)
		}
	}
}

// parseAudit reads a line of the audit log. It is not ok if the line is about
// the end of a request whose beginning was recorded, too.
func parseAudit(line []byte) (r Request, ok bool, err error) {
	var event struct {
		Stage, Verb, RequestURI string
		User                    struct{ Username string }
		ObjectRef               struct{ APIGroup, Resource, Subresource, Namespace, Name string }
		ResponseStatus          struct{ Code int }
		Annotations             map[string]string
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return Request{}, false, err
	}
	path, _, _ := strings.Cut(event.RequestURI, "?")
	o := event.ObjectRef
	return Request{
		User: event.User.Username, Verb: event.Verb, Group: o.APIGroup, Resource: o.Resource, Subresource: o.Subresource,
		Namespace: o.Namespace, Name: o.Name, Path: path, Status: event.ResponseStatus.Code,
		Unauthorized: event.Annotations["authorization.k8s.io/decision"] == "forbid",
	}, event.Verb != "watch" || event.Stage == "ResponseStarted" || event.ResponseStatus.Code >= 400, nil
}

// auditFlags makes kube-apiserver record who did what to which object, and
// nothing of what was sent.
func (c *Cluster) auditFlags(users []string) ([]string, error) {
	if len(users) == 0 {
		return nil, nil
	}
	policy, err := yaml.Marshal(map[string]any{
		"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": []string{"RequestReceived"},
		"rules": []any{map[string]any{"level": "Metadata", "users": users}, map[string]any{"level": "None"}},
	})
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(c.dir, auditPolicyFile), policy, 0o600); err != nil {
		return nil, err
	}
	return []string{"--audit-policy-file=" + auditPolicyFile, "--audit-log-path=" + auditLogFile}, nil
}
