// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// fault is what the body of an answer says about a failure.
type fault struct {
	kind    string // Neutron's type of error, such as OverQuota; else the key that held the fault, or empty
	message string // one line; never empty
	known   bool   // the body was one that an OpenStack service writes
}

// maxMessage bounds a message, in bytes. Octavia's validation errors are the longest that are of use.
const maxMessage = 500

// parseFault finds the message in the bodies of Octavia {"faultstring"}, Neutron {"NeutronError": {"type", "message"}}, Nova
// and Keystone {"<kind>": {"message"}}, and of WSGI middleware {"message"} or {"title", "description"}. Of any other body,
// such as a gateway's page, only the status is reported.
func parseFault(status int, body []byte) fault {
	var document map[string]json.RawMessage
	if json.Unmarshal(body, &document) == nil {
		for _, key := range []string{"faultstring", "message", "description", "title"} {
			if message := text(document[key]); message != "" {
				return fault{message: message, known: true}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(document)) {
			value := document[key]
			var inner struct {
				Type    string          `json:"type"`
				Message json.RawMessage `json:"message"`
			}
			if message := text(value); message != "" && key == "NeutronError" {
				return fault{kind: key, message: message, known: true}
			}
			if json.Unmarshal(value, &inner) != nil {
				continue
			}
			if message := text(inner.Message); message != "" {
				if inner.Type != "" {
					key = inner.Type
				}
				return fault{kind: key, message: message, known: true}
			}
		}
	}
	message := http.StatusText(status)
	if message == "" {
		message = "unexpected answer"
	}
	return fault{message: strings.ToLower(message)}
}

// text returns a JSON string as one line of bounded length, or nothing.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessage {
		s = strings.ToValidUTF8(s[:maxMessage], "") + " ..."
	}
	return s
}

// isQuota knows Octavia's, Neutron's and Nova's ways to say that there can be no more of something.
func (f fault) isQuota() bool {
	return f.kind == "OverQuota" || strings.Contains(f.message, "Quota has been met") || strings.Contains(f.message, "Quota exceeded")
}
