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

// UnreadablePKCS12Error is of a secret that can be read and is no PKCS#12 bundle without a password. It says so in the words of
// the library that Octavia reads bundles with since 2025.1, cryptography.
type UnreadablePKCS12Error string

func (e UnreadablePKCS12Error) Error() string { return string(e) }

// ErrNoName is a certificate without a name that Octavia can use: before 2025.1 a common name in the subject, since then that or a
// DNS name (octavia/common/tls_utils/cert_parser.py: "No CN or DNSName(s) found in certificate").
var ErrNoName = errors.New("the certificate has no name")

// Reader reads secrets for another service, Octavia, which is a user of its own.
// As Octavia does, it first puts itself on the list of access of a secret, with
// the rights of whoever names the secret to it.
type Reader struct {
	service *Service
	// UserID is who reads.
	userID string
}

// ReaderFor makes a Reader for the user.
func (s *Service) ReaderFor(userID string) *Reader { return &Reader{s, userID} }

// Certificate checks that a reference leads to a certificate with its key: a
// secret that is a PKCS#12 bundle without a password, or a certificate container.
// The error is an UnreadablePKCS12Error for a secret that is something else, and
// ErrNoName for a certificate without a name; whatever else is wrong, there is no such certificate that the caller may use.
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
		return nil // what it opens is not looked at
	}
	pair, err := tls.X509KeyPair(certificate.payload, key.payload)
	if err != nil {
		return err
	}
	return r.named(pair.Leaf)
}

// KeyPair returns the certificate and the key that a reference leads to, as the reader's own user reads them
// when it carries a change out.
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

// pairOfPKCS12 returns what a bundle without a password holds.
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

// pairOfContainer returns what a certificate container holds.
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

// named refuses a certificate without a name that Octavia can use.
func (r *Reader) named(leaf *x509.Certificate) error {
	takesDNSNames := r.service.release >= release.Epoxy
	if leaf.Subject.CommonName == "" && !(takesDNSNames && len(leaf.DNSNames) > 0) {
		return ErrNoName
	}
	return nil
}

// Payload is the payload of the secret that a reference names.
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

// grant lets the reader read what the reference names, and what that holds. Octavia sees
// to that in the caller's name: with the caller's token since 2025.1, which is held to its
// access rules, and before with another one that it gets for that.
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

// objects are the secret that a reference names, or the container and the
// secrets that it holds.
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
	return nil, refused(http.StatusNotFound, "no secret is at %q", reference)
}

// held is the secret that a container holds under a name, nil if none.
func (r *Reader) held(x *container, name string) *secret {
	for _, held := range x.refs {
		if held.name == name {
			return r.service.secret(held.secretID)
		}
	}
	return nil
}
