// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// makeImage implements the command image: it writes the image to the file, and pushes it.
func makeImage(ctx context.Context, o options, out io.Writer) error {
	b, err := buildAll(ctx, o, out, func(_ source, platforms []platform) error {
		for _, p := range platforms {
			if !p.hasImage() {
				return fmt.Errorf("PLATFORMS=%s: images exist for linux, not for %s", o.platforms, p)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(o.output), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(o.output, b.archive, 0o644); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: image %s for %s\ndigest: %s\n", o.output, o.image, o.platforms, b.digest)
	if o.push {
		return b.push(ctx, out)
	}
	return nil
}

// built has what both commands build.
type built struct {
	source     source
	tag        name.Tag
	programs   []program
	components []component
	index      v1.ImageIndex
	digest     v1.Hash
	// archive is the image as a file.
	archive []byte
}

// buildAll builds the programs and the image, if check returns no error.
func buildAll(ctx context.Context, o options, out io.Writer, check func(source, []platform) error) (b built, err error) {
	b.tag, err = imageName(o.image, o.push)
	if err != nil {
		return b, err
	}
	platforms, err := parsePlatforms(o.platforms)
	if err != nil {
		return b, err
	}
	b.source, err = readSource(ctx, o.root, o.version)
	if err != nil {
		return b, err
	}
	if err := check(b.source, platforms); err != nil {
		return b, err
	}
	b.programs, err = build(ctx, b.source, platforms, out)
	if err != nil {
		return b, err
	}
	b.components, err = programComponents(ctx, b.source, b.programs)
	if err != nil {
		return b, err
	}
	b.index, err = indexOf(b.source, b.imagePrograms(), b.components)
	if err != nil {
		return b, err
	}
	b.digest, err = b.index.Digest()
	if err != nil {
		return b, err
	}
	b.archive, err = imageArchive(b.source, b.tag, b.index)
	return b, err
}

// imagePrograms returns the programs of the image.
func (b built) imagePrograms() []program {
	return slices.DeleteFunc(slices.Clone(b.programs), func(p program) bool { return !p.platform.hasImage() })
}

// push pushes the image, with the credentials of `docker login` or `podman login`.
func (b built) push(ctx context.Context, out io.Writer) error {
	if err := remote.WriteIndex(b.tag, b.index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("push %s: %w", b.tag, err)
	}
	fmt.Fprintf(out, "pushed: %s@%s\n", b.tag.Context(), b.digest)
	return nil
}

// indexOf returns the index of the programs' images, with the licences of their components.
func indexOf(s source, programs []program, components []component) (v1.ImageIndex, error) {
	certificates, err := certificateBundle()
	if err != nil {
		return nil, err
	}
	own, err := os.ReadFile(filepath.Join(s.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	return imageIndex(contents{source: s, programs: programs, certificates: certificates, licences: licenceFiles(own, components)})
}

// imageName parses the name of an image. If the image is pushed, the name must include the
// registry: otherwise it would be pushed to a default registry.
func imageName(image string, pushed bool) (name.Tag, error) {
	tag, err := name.NewTag(image)
	if err != nil {
		return tag, fmt.Errorf("IMAGE=%s: %w", image, err)
	}
	if pushed && !strings.HasPrefix(image, tag.RegistryStr()+"/") {
		return tag, fmt.Errorf("IMAGE=%s: to push it, include the registry, such as registry.example.com/%s", image, image)
	}
	return tag, nil
}

// dockerImage is an element of manifest.json, which Docker reads if it does not support OCI layouts.
type dockerImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// imageArchive returns an archive with an OCI image layout, which also has the format of `docker
// save`. A Docker whose image store does not support several platforms loads one image for each,
// with the architecture at the end of its tag.
func imageArchive(s source, tag name.Tag, index v1.ImageIndex) ([]byte, error) {
	entries, err := layoutEntries(tag, index)
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	var images []dockerImage
	for _, m := range manifest.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			return nil, err
		}
		described, err := image.Manifest()
		if err != nil {
			return nil, err
		}
		d := dockerImage{Config: blobPath(described.Config.Digest), RepoTags: []string{familiarName(tag) + "-" + m.Platform.Architecture}}
		for _, l := range described.Layers {
			d.Layers = append(d.Layers, blobPath(l.Digest))
		}
		images = append(images, d)
	}
	list, err := json.Marshal(images)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	err = writeTar(&archive, append(entries, entry{name: "manifest.json", mode: modeFile, content: list}), s.time)
	return archive.Bytes(), err
}

// layoutEntries returns the files of an OCI image layout with the index. They contain the name of
// the image.
func layoutEntries(tag name.Tag, index v1.ImageIndex) ([]entry, error) {
	dir, err := os.MkdirTemp("", "kube-octavia-image-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return nil, err
	}
	err = path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": tag.TagStr(),
		"io.containerd.image.name":          strings.Replace(tag.Name(), "index.docker.io/", "docker.io/", 1),
	}))
	if err != nil {
		return nil, err
	}
	var entries []entry
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		relative, notBelow := filepath.Rel(dir, path)
		entries = append(entries, entry{name: filepath.ToSlash(relative), mode: modeFile, content: content})
		return errors.Join(err, notBelow)
	})
	return entries, err
}

func blobPath(digest v1.Hash) string { return "blobs/" + digest.Algorithm + "/" + digest.Hex }

// familiarName returns the usual form of the name, without Docker's default registry.
func familiarName(tag name.Tag) string {
	return strings.TrimPrefix(strings.TrimPrefix(tag.Name(), "index.docker.io/"), "library/")
}
