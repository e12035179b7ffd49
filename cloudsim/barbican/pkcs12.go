// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package barbican

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/asn1"
	"fmt"
	"hash"
)

// pfx is the outer form of a PKCS#12 bundle (RFC 7292).
type pfx struct {
	Version  int
	AuthSafe struct {
		ContentType asn1.ObjectIdentifier
		Content     asn1.RawValue `asn1:"tag:0,explicit,optional"`
	}
	MAC macData `asn1:"optional"`
}

type macData struct {
	Digest struct {
		Algorithm struct {
			Algorithm  asn1.ObjectIdentifier
			Parameters asn1.RawValue `asn1:"optional"`
		}
		Digest []byte
	}
	Salt       []byte
	Iterations int `asn1:"optional,default:1"`
}

// digests are the hash functions of checksums.
var digests = map[string]func() hash.Hash{"1.3.14.3.2.26": sha1.New, "2.16.840.1.101.3.4.2.1": sha256.New}

// checkPKCS12 tells whether the bytes are a bundle without a password: of its
// contents, only the checksum is looked at.
func checkPKCS12(bundle []byte) error {
	var p pfx
	rest, err := asn1.Unmarshal(bundle, &p)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnreadablePKCS12, err)
	case len(rest) > 0 || p.Version != 3:
		return fmt.Errorf("%w: it is not of version 3", ErrUnreadablePKCS12)
	case len(p.MAC.Digest.Digest) == 0:
		return nil
	}
	newHash := digests[p.MAC.Digest.Algorithm.Algorithm.String()]
	if newHash == nil {
		return fmt.Errorf("%w: its checksum is of an unknown kind", ErrUnreadablePKCS12)
	}
	var content []byte
	if _, err := asn1.Unmarshal(p.AuthSafe.Content.Bytes, &content); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreadablePKCS12, err)
	}
	// Tools differ in what no password is: nothing, or the end of an empty text.
	for _, password := range [][]byte{{0, 0}, nil} {
		mac := hmac.New(newHash, macKey(newHash, password, p.MAC.Salt, p.MAC.Iterations))
		mac.Write(content)
		if hmac.Equal(mac.Sum(nil), p.MAC.Digest.Digest) {
			return nil
		}
	}
	return fmt.Errorf("%w: it has a password", ErrUnreadablePKCS12)
}

// macKey derives the key of the checksum from a password (RFC 7292, B.2). Both
// hash functions work on blocks of 64 bytes, and the key is as long as the hash,
// so that one block is enough.
func macKey(newHash func() hash.Hash, password, salt []byte, iterations int) []byte {
	const block = 64
	const forMAC = 3
	h := newHash()
	h.Write(bytes.Repeat([]byte{forMAC}, block))
	h.Write(fill(salt, block))
	h.Write(fill(password, block))
	key := h.Sum(nil)
	for range iterations - 1 {
		h.Reset()
		h.Write(key)
		key = h.Sum(nil)
	}
	return key
}

// fill repeats the bytes until they fill whole blocks; none fill none.
func fill(b []byte, block int) []byte {
	n := (len(b) + block - 1) / block * block
	if n == 0 {
		return nil
	}
	return bytes.Repeat(b, n/len(b)+1)[:n]
}
