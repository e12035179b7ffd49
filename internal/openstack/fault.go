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

// fault is the failure that a response body describes.
type fault struct {
	kind    string // Neutron's type of error, such as OverQuota; else the key of the fault, or empty
	message string // one line; never empty
	known   bool   // the body has the form of an OpenStack service
}

// maxMessage limits a message, in bytes. Octavia's validation errors are the longest useful ones.
const maxMessage = 500

// parseFault finds the message in the bodies of Octavia {"faultstring"}, Neutron {"NeutronError": {"type",
// "message"}}, Nova and Keystone {"<kind>": {"message"}}, and WSGI middleware {"message"} or {"title",
// "description"}. For any other body, such as a gateway's page, it returns the status.
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

// text returns a JSON string as one line of limited length, or "".
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

// isQuota reports whether Octavia, Neutron or Nova says that a quota is exhausted.
func (f fault) isQuota() bool {
	return f.kind == "OverQuota" || strings.Contains(f.message, "Quota has been met") || strings.Contains(f.message, "Quota exceeded")
}
