// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pair is a certificate with its key, as PEM.
type pair struct{ certificate, key []byte }

// pairs are the certificates that stories use. They are the same on all stages, and valid both in virtual time, which begins in
// the year 2000, and now.
var pairs = sync.OnceValues(func() (map[string]pair, error) {
	all := map[string]pair{}
	for i, name := range []string{"a", "b"} {
		private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(int64(i + 1)), Subject: pkix.Name{CommonName: name + ".example.com"},
			NotBefore: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2099, 1, 1, 0, 0, 0, 0, time.UTC)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
		if err != nil {
			return nil, err
		}
		key, err := x509.MarshalPKCS8PrivateKey(private)
		if err != nil {
			return nil, err
		}
		all[name] = pair{pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})}
	}
	return all, nil
})

// makeCertificates stores the certificates of a user in Barbican, as containers. Their symbols are $certificate-a and
// -b.
func (s *stage) makeCertificates() error {
	all, err := pairs()
	if err != nil {
		return err
	}
	store := func(kind string, body map[string]any) (ref string, _ error) {
		var answer map[string]string
		err := s.barbican(http.MethodPost, kind+"s", body, &answer)
		return answer[kind+"_ref"], err
	}
	for _, name := range sortedKeys(all) {
		certificate, err := store("secret", map[string]any{"name": ofPerson, "payload": string(all[name].certificate), "payload_content_type": "text/plain"})
		if err != nil {
			return err
		}
		key, err := store("secret", map[string]any{"name": ofPerson, "payload": string(all[name].key), "payload_content_type": "text/plain"})
		if err != nil {
			return err
		}
		s.symbols["$certificate-"+name], err = store("container", map[string]any{"type": "certificate", "secret_refs": []any{
			map[string]any{"name": "certificate", "secret_ref": certificate}, map[string]any{"name": "private_key", "secret_ref": key}}})
		if err != nil {
			return err
		}
	}
	return nil
}

// setSecret makes the Secret of a namespace and name have one of the certificates, or content that is none. Value - deletes it.
func (s *stage) setSecret(a action) error {
	namespace, name := split(a.On)
	secrets := s.client.CoreV1().Secrets(namespace)
	if a.Value == absent {
		return secrets.Delete(s.ctx, name, metav1.DeleteOptions{})
	}
	all, err := pairs()
	if err != nil {
		return err
	}
	one, known := all[a.Value]
	if !known {
		one = pair{[]byte(a.Value), []byte(a.Value)}
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: one.certificate, corev1.TLSPrivateKeyKey: one.key}}
	_, err = secrets.Create(s.ctx, secret, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = secrets.Update(s.ctx, secret, metav1.UpdateOptions{})
	}
	return err
}
