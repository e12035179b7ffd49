// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Modes of entries: only the owner, root, may write.
const (
	modeFile       = 0o644
	modeExecutable = 0o755
)

// entry is a file or directory of a tar archive. The name of a directory ends with a slash.
type entry struct {
	name    string
	mode    int64
	content []byte
}

// writeTar writes a tar archive with the entries sorted by name, all owned by root and with one
// modification time, so that the same entries give the same bytes.
func writeTar(w io.Writer, entries []entry, changed time.Time) error {
	archive := tar.NewWriter(w)
	for _, e := range slices.SortedFunc(slices.Values(entries), func(a, b entry) int { return cmp.Compare(a.name, b.name) }) {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: e.name, Mode: e.mode, Size: int64(len(e.content)), ModTime: changed}
		if strings.HasSuffix(e.name, "/") {
			header.Typeflag, header.Mode = tar.TypeDir, modeExecutable
		}
		if err := archive.WriteHeader(header); err != nil {
			return fmt.Errorf("archive %s: %w", e.name, err)
		}
		if _, err := archive.Write(e.content); err != nil {
			return fmt.Errorf("archive %s: %w", e.name, err)
		}
	}
	return archive.Close()
}

// tarGz returns a compressed tar archive of the entries.
func tarGz(entries []entry, changed time.Time) ([]byte, error) {
	var compressed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(zip, entries, changed); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	return compressed.Bytes(), nil
}
