// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// throwAwayKey returns a gpg key that exists only during the test.
func throwAwayKey(t *testing.T) (key string) {
	t.Helper()
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("there is no gpg")
	}
	home, err := os.MkdirTemp("", "gpg-") // a short path, because the agent's sockets are in it
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GNUPGHOME", home)
	t.Cleanup(func() {
		if text, err := exec.Command("gpgconf", "--kill", "all").CombinedOutput(); err != nil {
			t.Errorf("end the agent: %v: %s", err, text)
		}
		os.RemoveAll(home)
	})
	key = "release@example.test"
	gpg(t, "", "--pinentry-mode", "loopback", "--passphrase", "", "--quick-generate-key", key, "ed25519", "sign", "1d")
	return key
}

// gpg runs gpg with an input and returns its output.
func gpg(t *testing.T, input string, args ...string) string {
	t.Helper()
	command := exec.Command("gpg", append([]string{"--batch"}, args...)...)
	command.Stdin = strings.NewReader(input)
	out, err := output(command)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func testChart() chart {
	return chart{file: file{"kube-octavia-1.2.3.tgz", []byte("an archive")}, metadata: []byte("# A comment.\nname: kube-octavia\nversion: \"1.2.3\"\nkeywords:\n- openstack\n")}
}

// TestTheProvenanceHasWhatHelmVerifies splits the message as package provenance of Helm does.
func TestTheProvenanceHasWhatHelmVerifies(t *testing.T) {
	parts := strings.Split(string(provenanceMessage(testChart())), "\n...\n")
	if len(parts) != 2 {
		t.Fatalf("it has %d parts: %q", len(parts), parts)
	}
	var metadata struct{ Name, Version string }
	var sums struct{ Files map[string]string }
	for text, into := range map[string]any{parts[0]: &metadata, parts[1]: &sums} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	if metadata.Name != "kube-octavia" || metadata.Version != "1.2.3" {
		t.Errorf("the metadata is %+v", metadata)
	}
	want := map[string]string{"kube-octavia-1.2.3.tgz": "sha256:" + checksum([]byte("an archive"))}
	if diff := cmp.Diff(want, sums.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestTheChartAndTheChecksumsAreSignedWithTheKey(t *testing.T) {
	key := throwAwayKey(t)
	checksums := checksumFile([]file{testChart().file})
	files, err := signatureFiles(t.Context(), key, testChart(), checksums)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 2 || files[0].name != "kube-octavia-1.2.3.tgz.prov" || files[1].name != "checksums.txt.asc" {
		t.Fatalf("the files are %v", files)
	}
	provenance := string(files[0].content)
	if got, want := gpg(t, provenance, "--decrypt"), strings.TrimSpace(string(provenanceMessage(testChart()))); got != want {
		t.Errorf("signed is %q, want %q", got, want)
	}
	forged := strings.Replace(provenance, "1.2.3.tgz: sha256:", "1.2.3.tgz: sha256:0", 1)
	command := exec.Command("gpg", "--batch", "--decrypt")
	command.Stdin = strings.NewReader(forged)
	if text, err := command.CombinedOutput(); err == nil || forged == provenance {
		t.Errorf("a forged provenance is accepted: %s", text)
	}
	signature := filepath.Join(t.TempDir(), "checksums.txt.asc")
	if err := os.WriteFile(signature, files[1].content, 0o644); err != nil {
		t.Fatal(err)
	}
	gpg(t, string(checksums.content), "--verify", signature, "-")
}

func TestAKeyThatGPGDoesNotHaveIsNamed(t *testing.T) {
	throwAwayKey(t)
	_, err := signatureFiles(t.Context(), "nobody@example.test", testChart(), file{})
	if err == nil || !strings.Contains(err.Error(), `"nobody@example.test" (SIGN_KEY)`) {
		t.Errorf("the error is %v", err)
	}
}

func TestWithoutAKeyNothingIsSigned(t *testing.T) {
	files, err := signatureFiles(context.Background(), "", testChart(), file{})
	if err != nil || len(files) != 0 {
		t.Errorf("there are %d files, %v", len(files), err)
	}
}
