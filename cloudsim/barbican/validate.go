// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

var (
	secretTypes  = []string{"symmetric", "passphrase", "private", "public", "certificate", "opaque"}
	contentTypes = []string{"text/plain", "text/plain;charset=utf-8", "text/plain; charset=utf-8", binary, "application/pkcs8"}
)

// newSecret makes a secret, which has no owner yet, from the body of a request.
func (s *Service) newSecret(body map[string]any) (*secret, error) {
	if err := checkTypes(body); err != nil {
		return nil, err
	}
	x := &secret{kind: "opaque", algorithm: body["algorithm"], mode: body["mode"], bits: body["bit_length"]}
	if name, ok := body["name"].(string); ok {
		x.name = strings.TrimSpace(name)
	}
	if kind, ok := body["secret_type"].(string); ok {
		x.kind = kind
	}
	if text, _ := body["expiration"].(string); strings.TrimSpace(text) != "" {
		var err error
		x.expires, err = parseTime(strings.TrimSpace(text))
		if err != nil {
			return nil, unfit("Secret", "expiration", "Invalid date for 'expiration'")
		}
		if x.expired(s.now()) {
			return nil, unfit("Secret", "expiration", "'expiration' is before current time")
		}
	}
	_, hasType := body["payload_content_type"]
	switch _, hasPayload := body["payload"]; {
	case hasPayload:
		return x, x.setPayload(body)
	case hasType:
		return nil, unfit("Secret", "payload", "payload must be provided when payload_content_type is specified")
	}
	return x, nil
}

// checkTypes checks the body against the JSON schema of a secret.
func checkTypes(body map[string]any) error {
	for _, key := range []string{"name", "payload_content_type"} {
		if _, ok := body[key].(string); !ok && body[key] != nil {
			return unfit("Secret", key, "%s is not of type 'string', 'null'", python(body[key]))
		}
	}
	for _, key := range []string{"algorithm", "mode", "expiration", "payload", "secret_type", "payload_content_encoding"} {
		if value, given := body[key]; given {
			if _, ok := value.(string); !ok {
				return unfit("Secret", key, "%s is not of type 'string'", python(value))
			}
		}
	}
	for key, choices := range map[string][]string{"secret_type": secretTypes, "payload_content_encoding": {"base64"}} {
		if value, given := body[key].(string); given && !slices.Contains(choices, value) {
			return unfit("Secret", key, "'%s' is not one of %s", value, python(choices))
		}
	}
	if value, given := body["bit_length"]; given {
		switch n, ok := value.(float64); {
		case !ok || n != float64(int(n)):
			return unfit("Secret", "bit_length", "%s is not of type 'integer'", python(value))
		case n < 1:
			return unfit("Secret", "bit_length", "%v is less than the minimum of 1", n)
		case n > 32767:
			return unfit("Secret", "bit_length", "%v is greater than the maximum of 32767", n)
		}
	}
	return nil
}

func (x *secret) setPayload(body map[string]any) error {
	contentType, given := body["payload_content_type"].(string)
	contentType = strings.ToLower(contentType)
	encoding, encoded := body["payload_content_encoding"].(string)
	text := strings.TrimSpace(body["payload"].(string))
	isText := strings.HasPrefix(contentType, plainText)
	switch {
	case !given:
		return unfit("Secret", "payload_content_type", "If 'payload' is supplied, 'payload_content_type' must also be supplied.")
	case !slices.Contains(contentTypes, contentType):
		return unfit("Secret", "payload_content_type", "payload_content_type is not one of %s", python(contentTypes))
	case isText && encoded:
		return unfit("Secret", "payload_content_encoding", "payload_content_encoding is not one of None")
	case !isText && encoding != "base64":
		return unfit("Secret", "payload_content_encoding", "payload_content_encoding is not one of ['base64', 'binary']")
	case len(body["payload"].(string)) > maxSecret:
		return tooLarge()
	case text == "":
		return unfit("Secret", "payload", "If 'payload' specified, must be non empty")
	}
	x.contentType, x.payload = contentType, []byte(text)
	if isText {
		x.contentType = plainText
		return nil
	}
	var err error
	x.payload, err = decode(text)
	if err != nil {
		return unfit("Secret", "payload", "Invalid payload for payload_content_encoding")
	}
	return nil
}

// parseTime reads a time; without a zone it is UTC.
func parseTime(text string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02"} {
		if t, err := time.Parse(layout, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", text)
}

// python writes a JSON value, or a list of texts, as Python prints it.
func python(x any) string {
	switch v := x.(type) {
	case nil:
		return "None"
	case string:
		return "'" + v + "'"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case []string:
		return "['" + strings.Join(v, "', '") + "']"
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, python(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(x)
}
