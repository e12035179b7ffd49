// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// sourceURL is the URL of the repository, for users and tools that have only the image.
const sourceURL = "https://github.com/kube-octavia/kube-octavia"

// user is the uid and gid of nonroot: the kubelet cannot check whether a user name means root.
const user = "65532:65532"

// contents are the contents of an image.
type contents struct {
	source   source
	programs []program
	// certificates are the root certificates, in PEM.
	certificates []byte
	// licences are the files of the directory /licenses.
	licences []entry
}

// labels returns the annotations of the index and of the images, and the labels of their configs.
// The keys are those of the OCI image specification.
func labels(s source) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       programName,
		"org.opencontainers.image.description": "Load balancers for Kubernetes Services from OpenStack Octavia",
		"org.opencontainers.image.source":      sourceURL,
		"org.opencontainers.image.version":     s.version,
		"org.opencontainers.image.revision":    s.revision,
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.created":     s.time.Format(time.RFC3339),
	}
}

// imageEntries returns the files of the image of a program.
func imageEntries(c contents, p program) []entry {
	entries := []entry{
		{name: programName, mode: modeExecutable, content: p.content},
		{name: "etc/"},
		{name: "etc/ssl/"},
		{name: "etc/ssl/certs/"},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: modeFile, content: c.certificates},
		{name: "etc/passwd", mode: modeFile, content: []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")},
		{name: "etc/group", mode: modeFile, content: []byte("root:x:0:\nnonroot:x:65532:\n")},
		{name: "licenses/"},
	}
	for _, l := range c.licences {
		entries = append(entries, entry{name: "licenses/" + l.name, mode: modeFile, content: l.content})
	}
	return entries
}

// imageIndex returns an OCI index with an image for each program.
func imageIndex(c contents) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range c.programs {
		image, err := imageOf(c, p)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", p.platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
			Platform: &v1.Platform{OS: p.platform.os, Architecture: p.platform.arch},
		}})
	}
	annotated, ok := mutate.Annotations(index, labels(c.source)).(v1.ImageIndex)
	if !ok {
		return nil, fmt.Errorf("an annotated index is a %T", annotated)
	}
	return annotated, nil
}

// imageOf returns the image of one program.
func imageOf(c contents, p program) (v1.Image, error) {
	files, err := layer(imageEntries(c, p), c.source.time)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: c.source.time}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err = mutate.ConfigFile(image, &v1.ConfigFile{
		OS: p.platform.os, Architecture: p.platform.arch, Created: created,
		Config: v1.Config{User: user, WorkingDir: "/", Entrypoint: []string{"/" + programName}, Labels: labels(c.source)},
		RootFS: v1.RootFS{Type: "layers"},
	})
	if err != nil {
		return nil, err
	}
	image, err = mutate.Append(image, mutate.Addendum{Layer: files, History: v1.History{Created: created, CreatedBy: programName + " " + c.source.version}})
	if err != nil {
		return nil, err
	}
	annotated, ok := mutate.Annotations(image, labels(c.source)).(v1.Image)
	if !ok {
		return nil, fmt.Errorf("an annotated image is a %T", annotated)
	}
	return annotated, nil
}

// layer returns a compressed layer of the entries.
func layer(entries []entry, changed time.Time) (v1.Layer, error) {
	var archive bytes.Buffer
	if err := writeTar(&archive, entries, changed); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithCompressedCaching)
}
