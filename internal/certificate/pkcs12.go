// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"fmt"
)

// Octavia takes a certificate with its key as one secret that is a PKCS #12 bundle, or,
// an older way that it means to give up, as a container of several secrets. A bundle is
// made by one call that does all or nothing, and is deleted by one.
//
// It bears no password, which Octavia demands; so to encrypt what is in it would be for
// show, and what is left of RFC 7292 is a handful of ASN.1 structures. The checksum is
// one for OpenSSL before 3.0, which reads no bundle without.

// The identifiers of RFC 7292 and of what it refers to.
var (
	oidData       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 7, 1}
	oidKeyBag     = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 1}
	oidCertBag    = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 12, 10, 1, 3}
	oidX509       = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 22, 1}
	oidLocalKeyID = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 21}
	oidSHA256     = asn1.ObjectIdentifier{2, 16, 840, 1, 101, 3, 4, 2, 1}
)

const (
	version3 = 3
	// forMAC says that a key is derived for a checksum, and macIterations how often it is
	// hashed, as OpenSSL does.
	forMAC        = 3
	macIterations = 2048
)

// noPassword is the end of an empty text.
var noPassword = []byte{0, 0}

type pfx struct {
	Version  int
	AuthSafe contentInfo
	MAC      macData
}

type contentInfo struct {
	Type    asn1.ObjectIdentifier
	Content []byte `asn1:"tag:0,explicit"`
}

type macData struct {
	Digest struct {
		Algorithm struct {
			Algorithm  asn1.ObjectIdentifier
			Parameters asn1.RawValue
		}
		Digest []byte
	}
	Salt       []byte
	Iterations int
}

type safeBag struct {
	ID         asn1.ObjectIdentifier
	Value      asn1.RawValue
	Attributes []attribute `asn1:"set,optional,omitempty"`
}

type certBag struct {
	ID    asn1.ObjectIdentifier
	Value []byte `asn1:"tag:0,explicit"`
}

type attribute struct {
	ID     asn1.ObjectIdentifier
	Values [][]byte `asn1:"set"`
}

// Bundle is the certificate with its key and what it came with as a PKCS #12 bundle
// without a password. Of the same certificate it is always the same.
func (c *Certificate) Bundle() ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(c.key)
	if err != nil {
		return nil, fmt.Errorf("write the key of certificate %s: it has a form that PKCS #8 does not know", c.Hash())
	}
	belong := []attribute{{oidLocalKeyID, [][]byte{{1}}}}
	bags := []safeBag{{oidKeyBag, explicit(key), belong}}
	for i, one := range c.chain {
		content, err := asn1.Marshal(certBag{oidX509, one.Raw})
		if err != nil {
			return nil, fmt.Errorf("write certificate %d of %s: %w", i+1, c.Hash(), err)
		}
		bags = append(bags, safeBag{oidCertBag, explicit(content), belong})
		belong = nil // the others have no key here
	}
	safe, err := asn1.Marshal(bags)
	if err != nil {
		return nil, fmt.Errorf("write certificate %s: its parts do not fit a bundle", c.Hash())
	}
	safes, err := asn1.Marshal([]contentInfo{{oidData, safe}})
	if err != nil {
		return nil, fmt.Errorf("write certificate %s: it does not fit a bundle", c.Hash())
	}
	bundle := pfx{Version: version3, AuthSafe: contentInfo{oidData, safes}}
	bundle.MAC.Digest.Algorithm.Algorithm = oidSHA256
	bundle.MAC.Digest.Algorithm.Parameters = asn1.NullRawValue
	// Salt is to make passwords hard to guess, and there is none.
	bundle.MAC.Salt, bundle.MAC.Iterations = []byte(c.Hash()[:16]), macIterations
	mac := hmac.New(sha256.New, macKey(noPassword, bundle.MAC.Salt))
	mac.Write(safes)
	bundle.MAC.Digest.Digest = mac.Sum(nil)
	return asn1.Marshal(bundle)
}

// explicit wraps what is encoded already as [0] EXPLICIT.
func explicit(der []byte) asn1.RawValue {
	return asn1.RawValue{Class: asn1.ClassContextSpecific, Tag: 0, IsCompound: true, Bytes: der}
}

// macKey derives the key of the checksum (RFC 7292, B.2). One round is enough: the key
// is as long as the hash.
func macKey(password, salt []byte) []byte {
	h := sha256.New()
	h.Write(bytes.Repeat([]byte{forMAC}, sha256.BlockSize))
	h.Write(filled(salt))
	h.Write(filled(password))
	key := h.Sum(nil)
	for range macIterations - 1 {
		sum := sha256.Sum256(key)
		key = sum[:]
	}
	return key
}

// filled repeats the bytes, of which a block is a multiple, until they fill one.
func filled(b []byte) []byte { return bytes.Repeat(b, sha256.BlockSize/len(b)) }
