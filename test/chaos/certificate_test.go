// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"path"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// secretName is the name of the Secret with a certificate.
const secretName = "web-tls"

// tlsPorts are the ports of a Service of which one terminates TLS.
var tlsPorts = []change{tcp(80), tcp(443), annotated(secretKey, secretName), annotated(protocolsKey, "80=TCP")}

func withoutTLS(v *corev1.Service) {
	delete(v.Annotations, secretKey)
	delete(v.Annotations, protocolsKey)
}

// newCertificate puts another certificate into the Secret.
func newCertificate(r *run) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	plan := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "web.example.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, key.Public(), key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: secretName}, Type: corev1.SecretTypeTLS, Data: map[string][]byte{
		"tls.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		"tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}),
	}}
	secrets := r.env.client.CoreV1().Secrets(r.namespace)
	_, err = secrets.Update(r.ctx, secret, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = secrets.Create(r.ctx, secret, metav1.CreateOptions{})
	}
	return err
}

// checkCertificate returns an error if Barbican has anything but the certificate that the
// Service requests, or the listener has another one.
func (r *run) checkCertificate(s state, v *corev1.Service) error {
	var want []string
	if v != nil && v.DeletionTimestamp == nil && v.Annotations[secretKey] != "" {
		secret, err := r.env.client.CoreV1().Secrets(r.namespace).Get(r.ctx, secretName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		block, _ := pem.Decode(secret.Data["tls.crt"])
		sum := sha256.Sum256(block.Bytes)
		want = []string{hex.EncodeToString(sum[:])}
	}
	if len(s.Certificates) != len(want) {
		return fmt.Errorf("Barbican has %v, want %q", s.Certificates, want)
	}
	for i, c := range s.Certificates {
		if !strings.HasSuffix(c.Name, "_"+want[i]) {
			return fmt.Errorf("Barbican has %s, want %s", c.Name, want[i])
		}
		for _, b := range s.Balancers {
			for _, l := range b.Listeners {
				if l.Protocol == "TERMINATED_HTTPS" && path.Base(l.Certificate) != path.Base(c.Ref) {
					return fmt.Errorf("the listener has %s, want %s", l.Certificate, c.Ref)
				}
			}
		}
	}
	return nil
}
