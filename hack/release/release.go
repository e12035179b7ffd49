// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// file is a file of a release.
type file struct {
	name    string
	content []byte
}

// chart is the archive of the Helm chart.
type chart struct {
	file
	// metadata is the content of Chart.yaml.
	metadata []byte
}

// makeRelease implements the command release: it empties the directory, writes the files to it, and
// pushes the image.
func makeRelease(ctx context.Context, o options, out io.Writer) error {
	b, err := buildAll(ctx, o, out, func(s source, platforms []platform) error {
		if !slices.ContainsFunc(platforms, platform.hasImage) {
			return fmt.Errorf("PLATFORMS=%s: the image needs a platform of linux", o.platforms)
		}
		return s.requireReleasable(ctx)
	})
	if err != nil {
		return err
	}
	files := []file{{b.source.name("image.tar"), b.archive}}
	for _, more := range []func() ([]file, error){
		func() ([]file, error) { return programFiles(b) },
		func() ([]file, error) { return imageBillFile(ctx, b) },
		func() ([]file, error) { return manifestFiles(b.source, b.tag) },
	} {
		added, err := more()
		if err != nil {
			return err
		}
		files = append(files, added...)
	}
	packaged, err := chartFile(ctx, b.source)
	if err != nil {
		return err
	}
	files = append(files, packaged.file)
	plugin, err := pluginFile(b.source, cmp.Or(o.downloads, sourceURL+"/releases/download/"+b.source.version), b.programs, files)
	if err != nil {
		return err
	}
	files = append(files, plugin)
	checksums := checksumFile(files)
	signatures, err := signatureFiles(ctx, o.signKey, packaged, checksums)
	if err != nil {
		return err
	}
	if err := writeFiles(o.output, slices.Concat(files, []file{checksums}, signatures), out); err != nil {
		return err
	}
	fmt.Fprintf(out, "image: %s@%s\n", b.tag.Context(), b.digest)
	if o.push {
		return b.push(ctx, out)
	}
	return nil
}

// name returns the name of a file of the release.
func (s source) name(suffix string) string { return programName + "-" + s.version + "-" + suffix }

// archiveName returns the name of the archive with the program for a platform.
func (s source) archiveName(p platform) string { return s.name(p.os+"-"+p.arch) + ".tar.gz" }

// programFiles returns, for each platform, the archive with the program and its licences, and its
// SBOM.
func programFiles(b built) ([]file, error) {
	own, err := os.ReadFile(filepath.Join(b.source.root, "LICENSE"))
	if err != nil {
		return nil, err
	}
	licences := licenceFiles(own, b.components)
	var files []file
	for _, p := range b.programs {
		name := b.source.name(p.platform.os + "-" + p.platform.arch)
		archive, err := tarGz(append([]entry{{name: programName, mode: modeExecutable, content: p.content}}, licences...), b.source.time)
		if err != nil {
			return nil, err
		}
		bill, err := programBill(b.source, name, p, b.components)
		if err != nil {
			return nil, err
		}
		files = append(files, file{b.source.archiveName(p.platform), archive}, file{name + ".spdx.json", bill})
	}
	return files, nil
}

// imageBillFile returns the SBOM of the image.
func imageBillFile(ctx context.Context, b built) ([]file, error) {
	roots, err := moduleComponents(ctx, filepath.Join(b.source.root, "hack", "release"), []string{rootsModule})
	if err != nil {
		return nil, err
	}
	bill, err := imageBill(b.source, b.source.name("image"), b.digest.String(), b.imagePrograms(), b.components, roots[0])
	return []file{{b.source.name("image.spdx.json"), bill}}, err
}

// checksumFile returns a file with the checksums of the files in the format of sha256sum.
func checksumFile(files []file) file {
	var lines []string
	for _, f := range slices.SortedFunc(slices.Values(files), func(a, b file) int { return cmp.Compare(a.name, b.name) }) {
		lines = append(lines, checksum(f.content)+"  "+f.name+"\n")
	}
	return file{"checksums.txt", []byte(strings.Join(lines, ""))}
}

// writeFiles writes the files to the directory, and removes everything else from it.
func writeFiles(dir string, files []file, out io.Writer) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.name)
		if err := os.WriteFile(path, f.content, 0o644); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: %d KiB\n", path, (len(f.content)+1023)/1024)
	}
	return nil
}
