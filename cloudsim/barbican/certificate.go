// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"slices"
	"strings"

	"software.sslmate.com/src/go-pkcs12"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// UnreadablePKCS12Error means that a secret can be read, but is not a PKCS#12 bundle without a password. Its text is
// that of cryptography, the library with which Octavia reads bundles since 2025.1.
type UnreadablePKCS12Error string

func (e UnreadablePKCS12Error) Error() string { return string(e) }

// ErrNoName means that a certificate has no name that Octavia can use: before 2025.1 a common name in the subject,
// since then a common name or a DNS name (octavia/common/tls_utils/cert_parser.py: "No CN or DNSName(s) found in
// certificate").
var ErrNoName = errors.New("the certificate has no name")

// Reader reads secrets for Octavia, which has a service user of its own. Like Octavia, it first
// adds this user to the secret's ACL, with the rights of the caller that refers to the secret.
type Reader struct {
	service *Service
	// userID is the user that reads.
	userID string
}

// ReaderFor returns a Reader for the user.
func (s *Service) ReaderFor(userID string) *Reader { return &Reader{s, userID} }

// Certificate checks that a reference leads to a certificate with its key: a secret that is a PKCS#12 bundle without a
// password, or a certificate container. The error is an UnreadablePKCS12Error for a secret that is something else, and
// ErrNoName for a certificate without a name. Any other error means that there is no such certificate, or that the
// caller may not use it.
func (r *Reader) Certificate(caller wire.Identity, reference string) error {
	r.service.mu.Lock()
	defer r.service.mu.Unlock()
	if err := r.grant(caller, reference); err != nil {
		return err
	}
	if x := r.service.secret(idOf(reference)); x != nil {
		pair, err := r.pairOfPKCS12(x)
		if err != nil {
			return err
		}
		return r.named(pair.Leaf)
	}
	x := r.service.container(idOf(reference))
	if x.kind != "certificate" {
		return notFound("the container is of another type")
	}
	certificate, key := r.held(x, "certificate"), r.held(x, "private_key")
	if certificate == nil || key == nil {
		return notFound("the container holds no certificate and key")
	}
	if r.held(x, "private_key_passphrase") != nil {
		return nil // Octavia does not check whether the key opens with the passphrase
	}
	pair, err := tls.X509KeyPair(certificate.payload, key.payload)
	if err != nil {
		return err
	}
	return r.named(pair.Leaf)
}

// KeyPair returns the certificate and the key that a reference leads to. It reads them as the reader's own
// user, as Octavia's worker does when it carries out a change.
func (r *Reader) KeyPair(reference string) (tls.Certificate, error) {
	r.service.mu.Lock()
	defer r.service.mu.Unlock()
	objects, err := r.objects(reference)
	if err != nil {
		return tls.Certificate{}, err
	}
	for _, o := range objects {
		if !r.service.policy.mayRead(o, wire.Identity{UserID: r.userID}, true) {
			return tls.Certificate{}, notAllowed("Secret payload retrieval")
		}
	}
	if x := r.service.secret(idOf(reference)); x != nil {
		return r.pairOfPKCS12(x)
	}
	return r.pairOfContainer(r.service.container(idOf(reference)))
}

// pairOfPKCS12 returns the certificate and key of a bundle without a password.
func (r *Reader) pairOfPKCS12(x *secret) (pair tls.Certificate, err error) {
	key, leaf, chain, err := pkcs12.DecodeChain(x.payload, "")
	switch {
	case x.contentType == plainText && r.service.release >= release.Newest:
		return pair, UnreadablePKCS12Error("argument 'data': Cannot convert \"<class 'str'>\" instance to a buffer.\nDid you mean to pass a bytestring instead?")
	case x.contentType == plainText:
		return pair, UnreadablePKCS12Error("argument 'data': from_buffer() cannot return the address of a unicode object")
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return pair, UnreadablePKCS12Error("Invalid password or PKCS12 data")
	case err != nil:
		return pair, UnreadablePKCS12Error("Could not deserialize PKCS12 data")
	}
	pair.PrivateKey, pair.Leaf = key, leaf
	for _, certificate := range append([]*x509.Certificate{leaf}, chain...) {
		pair.Certificate = append(pair.Certificate, certificate.Raw)
	}
	return pair, nil
}

// pairOfContainer returns the certificate and key of a certificate container.
func (r *Reader) pairOfContainer(x *container) (tls.Certificate, error) {
	certificate, key := r.held(x, "certificate"), r.held(x, "private_key")
	if certificate == nil || key == nil {
		return tls.Certificate{}, notFound("the container holds no certificate and key")
	}
	if r.held(x, "private_key_passphrase") != nil {
		return tls.Certificate{}, errors.New("the simulator does not open keys with a passphrase")
	}
	chain := slices.Clone(certificate.payload)
	if between := r.held(x, "intermediates"); between != nil {
		chain = append(append(chain, '\n'), between.payload...)
	}
	return tls.X509KeyPair(chain, key.payload)
}

// named returns an error for a certificate without a name that Octavia can use.
func (r *Reader) named(leaf *x509.Certificate) error {
	takesDNSNames := r.service.release >= release.Epoxy
	if leaf.Subject.CommonName == "" && !(takesDNSNames && len(leaf.DNSNames) > 0) {
		return ErrNoName
	}
	return nil
}

// Payload returns the payload of the secret that a reference names.
func (r *Reader) Payload(caller wire.Identity, reference string) ([]byte, error) {
	r.service.mu.Lock()
	defer r.service.mu.Unlock()
	if err := r.grant(caller, reference); err != nil {
		return nil, err
	}
	x := r.service.secret(idOf(reference))
	if x == nil || x.contentType == "" {
		return nil, notFound("Secret not found.")
	}
	return slices.Clone(x.payload), nil
}

// grant lets the reader read the object of the reference and, if it is a container, the secrets in
// it. Octavia does this in the caller's name: since 2025.1 with the caller's token, whose access
// rules apply, and before with another token that it requests for this purpose.
func (r *Reader) grant(caller wire.Identity, reference string) error {
	exchanges := r.service.release < release.Epoxy
	if exchanges && caller.Delegated {
		return refused(http.StatusForbidden, "Using a delegated token to create another token is not allowed.")
	}
	if exchanges {
		caller.Allowed = nil
	}
	objects, err := r.objects(reference)
	if err != nil {
		return err
	}
	for _, o := range objects {
		if err := r.service.grant(caller, o, r.userID); err != nil {
			return err
		}
	}
	return nil
}

// objects returns the secret that a reference names, or the container and its secrets.
func (r *Reader) objects(reference string) ([]*object, error) {
	if strings.Contains(reference, "/containers/") {
		x := r.service.container(idOf(reference))
		if x == nil {
			return nil, notFound("Secrets container not found.")
		}
		objects := []*object{&x.object}
		for _, held := range x.refs {
			if y := r.service.secret(held.secretID); y != nil {
				objects = append(objects, &y.object)
			}
		}
		return objects, nil
	}
	if x := r.service.secret(idOf(reference)); x != nil {
		return []*object{&x.object}, nil
	}
	return nil, refused(http.StatusNotFound, "there is no secret at %q", reference)
}

// held returns the secret that a container holds under a name, or nil.
func (r *Reader) held(x *container, name string) *secret {
	for _, held := range x.refs {
		if held.name == name {
			return r.service.secret(held.secretID)
		}
	}
	return nil
}
