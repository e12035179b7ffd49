// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// image is an unpacked image.
type image struct {
	// root is the directory with its files.
	root       string
	entrypoint []string
	env        []string
	workingDir string
}

// unpack unpacks the image with the name from a file in the format of `docker save` into a new
// directory.
func unpack(path, name, root string) (image, error) {
	file, err := os.Open(path)
	if err != nil {
		return image{}, err
	}
	defer file.Close()
	files := map[string][]byte{}
	if err := eachFile(file, func(h *tar.Header, content []byte) error {
		files[h.Name] = content
		return nil
	}); err != nil {
		return image{}, err
	}
	var all []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(files["manifest.json"], &all); err != nil || len(all) != 1 {
		return image{}, fmt.Errorf("%s has %d images: %w", path, len(all), err)
	}
	if !slices.ContainsFunc(all[0].RepoTags, func(tag string) bool { return tag == name || len(tag) > len(name) && tag[:len(name)+1] == name+"-" }) {
		return image{}, fmt.Errorf("the image is named %v, not %s", all[0].RepoTags, name)
	}
	var config struct {
		Config struct {
			Entrypoint, Env []string
			WorkingDir      string
		}
	}
	if err := json.Unmarshal(files[all[0].Config], &config); err != nil {
		return image{}, err
	}
	for _, layer := range all[0].Layers {
		if err := unpackLayer(files[layer], root); err != nil {
			return image{}, fmt.Errorf("layer %s: %w", layer, err)
		}
	}
	return image{root: root, entrypoint: config.Config.Entrypoint, env: config.Config.Env, workingDir: config.Config.WorkingDir}, nil
}

func unpackLayer(layer []byte, root string) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(layer))
	if err != nil {
		return err
	}
	return eachFile(unzipped, func(h *tar.Header, content []byte) error {
		path, mode := filepath.Join(root, filepath.Clean("/"+h.Name)), h.FileInfo().Mode()
		if mode.IsDir() {
			return os.MkdirAll(path, mode.Perm())
		}
		return os.WriteFile(path, content, mode.Perm())
	})
}

// eachFile calls do for each entry of an archive, in order.
func eachFile(archive io.Reader, do func(*tar.Header, []byte) error) error {
	for reader := tar.NewReader(archive); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		if err := do(header, content); err != nil {
			return err
		}
	}
}
