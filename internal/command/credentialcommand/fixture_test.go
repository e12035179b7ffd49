// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialcommand_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ran is what a command line did.
type ran struct {
	Status   int
	Out, Err string
}

func runCommand(t *testing.T, args ...string) ran {
	t.Helper()
	var out, errs bytes.Buffer
	status := cli.Run(t.Context(), args, cli.IO{Out: &out, Err: &errs}, cli.Options{Version: "v1.2.3"})
	return ran{status, out.String(), errs.String()}
}

// file writes text to a file of the test and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// anotherAuthority returns the certificate of an authority that has signed nothing.
func anotherAuthority(t *testing.T) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}
