// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
)

// signatureFiles returns the provenance of the chart, for `helm verify`, and a signature of the checksums of all
// files. gpg makes them with the key, which stays in gpg. Without a key there are none. Two signatures of the same
// file differ, so they are not part of the reproducible files.
func signatureFiles(ctx context.Context, key string, packaged chart, checksums file) ([]file, error) {
	if key == "" {
		return nil, nil
	}
	provenance, err := sign(ctx, key, provenanceMessage(packaged), "--clearsign")
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", packaged.name, err)
	}
	signature, err := sign(ctx, key, checksums.content, "--armor", "--detach-sign")
	if err != nil {
		return nil, fmt.Errorf("sign %s: %w", checksums.name, err)
	}
	return []file{{packaged.name + ".prov", provenance}, {checksums.name + ".asc", signature}}, nil
}

// provenanceMessage returns the message that Helm requires to be signed: Chart.yaml, and the
// checksum of the archive.
func provenanceMessage(packaged chart) []byte {
	return fmt.Appendf(nil, "%s\n...\nfiles:\n  %s: sha256:%s\n", packaged.metadata, packaged.name, checksum(packaged.content))
}

// sign runs gpg, which asks for a passphrase through its agent.
func sign(ctx context.Context, key string, message []byte, how ...string) ([]byte, error) {
	args := append([]string{"--batch", "--local-user", key, "--digest-algo", "SHA512", "--output", "-"}, how...)
	command := exec.CommandContext(ctx, "gpg", args...)
	command.Stdin = bytes.NewReader(message)
	var problems bytes.Buffer
	command.Stderr = &problems
	signed, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("gpg with key %q (SIGN_KEY): %w\n%s", key, err, problems.Bytes())
	}
	return signed, nil
}
