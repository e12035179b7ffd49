// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"encoding/base64"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

const (
	plainText = "text/plain"
	binary    = "application/octet-stream"

	// maxSecret is the maximum size of a payload, in bytes.
	maxSecret = 20_000
)

// secret is a secret with its payload.
type secret struct {
	object
	name                  any // a string, or nil
	kind                  string
	algorithm, mode, bits any       // nil when they are not given
	expires               time.Time // zero: never
	contentType           string    // empty: it has no payload yet
	payload               []byte
	metadata              map[string]string
}

func (x *secret) expired(now time.Time) bool { return !x.expires.IsZero() && !now.Before(x.expires) }

// findSecret returns the secret in the path. Its callers check later whether the client may read
// it: the existence of a secret is not confidential.
func (s *Service) findSecret(r *http.Request) (*secret, error) {
	id := r.PathValue("id")
	if uuid.Validate(id) != nil {
		return nil, notFound("Not Found. Provided secret id is invalid.")
	}
	if x := s.secret(id); x != nil {
		return x, nil
	}
	return nil, notFound("Secret not found.")
}

func (s *Service) postSecret(w http.ResponseWriter, r *http.Request) error {
	who := wire.Caller(r.Context())
	if !s.policy.mayCreate(who) {
		return notAllowed("Secret creation")
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	x, err := s.newSecret(body)
	if err != nil {
		return err
	}
	x.object = s.newObject(who)
	s.secrets = append(s.secrets, x)
	w.Header().Set("Location", ref(r, "secrets", x.id))
	wire.JSON(w, http.StatusCreated, map[string]string{"secret_ref": ref(r, "secrets", x.id)})
	return nil
}

// describe returns the secret without its payload.
func (x *secret) describe(r *http.Request) map[string]any {
	d := map[string]any{
		"created": timestamp(x.created), "updated": timestamp(x.updated), "status": "ACTIVE", "name": x.name, "secret_type": x.kind,
		"expiration": nil, "algorithm": x.algorithm, "bit_length": x.bits, "mode": x.mode, "creator_id": x.creator,
		"secret_ref": ref(r, "secrets", x.id),
	}
	if !x.expires.IsZero() {
		d["expiration"] = timestamp(x.expires)
	}
	if x.contentType != "" {
		d["content_types"] = map[string]string{"default": x.contentType}
	}
	if wanted(r) == newest {
		d["consumers"] = []any{}
	}
	return d
}

// getSecret describes the secret to clients that accept JSON, and sends its payload to others.
func (s *Service) getSecret(w http.ResponseWriter, r *http.Request) error {
	x, err := s.findSecret(r)
	if err != nil {
		return err
	}
	if !s.policy.mayRead(&x.object, wire.Caller(r.Context()), false) {
		return notAllowed("Secret retrieval")
	}
	if accept := r.Header.Get("Accept"); accept != "" && !strings.Contains(accept, "application/json") && accept != "*/*" {
		return x.sendPayload(w, r)
	}
	wire.JSON(w, http.StatusOK, x.describe(r))
	return nil
}

func (s *Service) getPayload(w http.ResponseWriter, r *http.Request) error {
	x, err := s.findSecret(r)
	if err != nil {
		return err
	}
	if !s.policy.mayRead(&x.object, wire.Caller(r.Context()), true) {
		return notAllowed("Secret payload retrieval")
	}
	return x.sendPayload(w, r)
}

// sendPayload sends the payload, with the requested content type.
func (x *secret) sendPayload(w http.ResponseWriter, r *http.Request) error {
	accept := r.Header.Get("Accept")
	switch {
	case x.contentType == "":
		return notFound("Not Found. Sorry but your secret has no payload.")
	case accept == "":
		accept = binary
	case accept == plainText:
		accept = "text/plain; charset=UTF-8"
	case accept != binary && accept != "*/*" && accept != x.contentType:
		return refused(http.StatusNotAcceptable, "Secret payload retrieval issue seen - Wrong payload content-type.")
	}
	w.Header().Set("Content-Type", accept)
	_, _ = w.Write(x.payload) // the client may have gone away
	return nil
}

// putPayload sets the payload of a secret that was created without one.
func (s *Service) putPayload(w http.ResponseWriter, r *http.Request) error {
	x, err := s.findSecret(r)
	if err != nil {
		return err
	}
	who := wire.Caller(r.Context())
	if !s.policy.mayPutPayload(&x.object, who) {
		return notAllowed("Secret update")
	}
	if err := wantType(r, binary, plainText); err != nil {
		return err
	}
	content, err := io.ReadAll(r.Body)
	switch {
	case err != nil:
		return err
	case len(content) == 0:
		return refused(http.StatusBadRequest, "Secret update issue seen - No data supplied to process..")
	case len(content) > maxSecret:
		return tooLarge()
	case x.contentType != "":
		return refused(http.StatusConflict, "Secret already has data, cannot modify it.")
	}
	x.contentType = plainText
	if strings.HasPrefix(r.Header.Get("Content-Type"), binary) {
		x.contentType = binary
		if r.Header.Get("Content-Encoding") == "base64" {
			content, err = decode(string(content))
			if err != nil {
				return refused(http.StatusBadRequest, "Secret update issue seen - Problem decoding payload.")
			}
		}
	}
	x.payload, x.updated = content, s.now()
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func tooLarge() error {
	return refused(http.StatusRequestEntityTooLarge, "Provided information too large to process")
}

var notBase64 = regexp.MustCompile(`[^A-Za-z0-9+/=]`)

// decode reads base64 as Python does: characters that are not part of base64 are skipped.
func decode(text string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(notBase64.ReplaceAllString(text, ""))
}

func (s *Service) deleteSecret(w http.ResponseWriter, r *http.Request) error {
	x, err := s.findSecret(r)
	if err != nil {
		return err
	}
	if !s.policy.mayChange(&x.object, wire.Caller(r.Context())) {
		return notAllowed("Secret deletion")
	}
	s.secrets = slices.DeleteFunc(s.secrets, func(other *secret) bool { return other == x })
	for _, c := range s.containers {
		c.refs = slices.DeleteFunc(c.refs, func(held secretRef) bool { return held.secretID == x.id })
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Service) getMetadata(w http.ResponseWriter, r *http.Request) error {
	x, err := s.findSecret(r)
	if err != nil {
		return err
	}
	if !s.policy.mayRead(&x.object, wire.Caller(r.Context()), false) {
		return notAllowed("Secret metadata retrieval")
	}
	metadata := x.metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	wire.JSON(w, http.StatusOK, map[string]any{"metadata": metadata})
	return nil
}

func (s *Service) putMetadata(w http.ResponseWriter, r *http.Request) error {
	x, err := s.findSecret(r)
	if err != nil {
		return err
	}
	if !s.policy.mayChange(&x.object, wire.Caller(r.Context())) {
		return notAllowed("Secret metadata creation")
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	given, ok := body["metadata"].(map[string]any)
	if !ok {
		return unfit("SecretMetadata", "None", "'metadata' is a required property")
	}
	metadata := map[string]string{}
	for key, value := range given {
		text, ok := value.(string)
		if !ok {
			return refused(http.StatusBadRequest, "Invalid Metadata. Keys and Values must be Strings.")
		}
		metadata[strings.ToLower(key)] = text
	}
	x.metadata = metadata
	wire.JSON(w, http.StatusCreated, map[string]string{"metadata_ref": ref(r, "secrets", x.id) + "/metadata"})
	return nil
}
