// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/barbican"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// SecretReader reads the objects that listeners and pools refer to, as Octavia does: with its own
// user, to which the caller of the request gives access.
type SecretReader interface {
	// Certificate checks that a reference leads to a certificate with its key.
	// The error is a barbican.UnreadablePKCS12Error if it leads to something else, and
	// barbican.ErrNoName for a certificate without a name.
	Certificate(caller wire.Identity, ref string) error
	// Payload returns the payload of the secret.
	Payload(caller wire.Identity, ref string) ([]byte, error)
}

// checkCertificates refuses references that do not lead to a certificate with its key: the default one, which may be
// "", and those that are chosen by name. A reference to something else is reported first, then references that lead
// nowhere, then certificates without a name.
func (c *Checks) checkCertificates(defaultRef string, sni ...string) error {
	if c.Secrets == nil {
		return nil
	}
	refs := slices.Clone(sni) // checked before the default one
	if defaultRef != "" {
		refs = append(refs, defaultRef)
	}
	var bad []any
	var nameless []string
	for _, ref := range refs {
		var unreadable barbican.UnreadablePKCS12Error
		switch err := c.Secrets.Certificate(c.Caller, ref); {
		case errors.Is(err, barbican.ErrNoName):
			nameless = append(nameless, ref)
		case errors.As(err, &unreadable):
			return c.unreadablePKCS12(unreadable)
		case err != nil:
			bad = append(bad, ref)
		}
	}
	if err := unretrieved(bad); err != nil || len(nameless) == 0 {
		return err
	}
	return c.withoutName(defaultRef, nameless)
}

// withoutName returns the driver's error for certificates without a name: the default one first, since 2025.1 with its
// own message (load_certificates_data in octavia/common/tls_utils/cert_parser.py).
func (c *Checks) withoutName(defaultRef string, nameless []string) error {
	if !slices.Contains(nameless, defaultRef) {
		defaultRef = nameless[0]
	} else if c.Release >= release.Epoxy {
		return fault.New(http.StatusBadRequest, "No CN or DNSName(s) found in certificate. The certificate is invalid.")
	}
	return fault.New(http.StatusBadRequest, "Could not retrieve certificate: %s", defaultRef)
}

// unreadablePKCS12 refuses a bundle with the error of the library that reads it. Before 2025.1 this is OpenSSL, whose
// messages the simulator does not have.
func (c *Checks) unreadablePKCS12(err barbican.UnreadablePKCS12Error) error {
	words := string(err)
	if c.Release < release.Epoxy {
		words = "[('" + words + "')]"
	}
	return fault.New(http.StatusBadRequest, "The PKCS12 bundle is unreadable. Please check the PKCS12 bundle validity. "+
		"In addition, make sure it does not require a pass phrase. Error: %s", words)
}

// unretrieved refuses references, if there are any.
func unretrieved(refs []any) error {
	if len(refs) == 0 {
		return nil
	}
	return fault.New(http.StatusBadRequest, "Could not retrieve certificate: %s", wire.Python(refs))
}

// checkAuthority refuses references to a certificate authority and its revocation list that lead to
// something else. Each may be "".
func (c *Checks) checkAuthority(ca, crl string) error {
	if c.Secrets == nil || ca == "" {
		return nil
	}
	payloads := map[string][]byte{}
	var bad []any
	for _, ref := range slices.DeleteFunc([]string{ca, crl}, func(ref string) bool { return ref == "" }) {
		payload, err := c.Secrets.Payload(c.Caller, ref)
		if err != nil {
			bad = append(bad, ref)
		}
		payloads[ref] = payload
	}
	if len(bad) > 0 {
		return unretrieved(bad)
	}
	authority, err := parseAuthority(payloads[ca])
	if err != nil {
		return fault.Invalid("The client authentication CA certificate is invalid. It must be a valid x509 PEM format certificate. Error: Unable to load PEM file. %v", err)
	}
	if crl == "" {
		return nil
	}
	list, err := parseRevocations(payloads[crl])
	switch {
	case err != nil:
		return fault.Invalid("The client authentication certificate revocation list is invalid. It must be a valid x509 PEM format certificate revocation list. "+
			"Error: Unable to load PEM file. %v", err)
	case list.CheckSignatureFrom(authority) != nil:
		return fault.Invalid("The CRL specified is not valid for client certificate authority reference supplied.")
	}
	return nil
}

var errNoPEM = errors.New("MalformedFraming")

func parseAuthority(text []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errNoPEM
	}
	return x509.ParseCertificate(block.Bytes)
}

func parseRevocations(text []byte) (*x509.RevocationList, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errNoPEM
	}
	return x509.ParseRevocationList(block.Bytes)
}
