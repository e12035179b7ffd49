// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialcommand

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// result is the file or stream to which a command writes a secret, completely or not at all.
type result struct {
	// to is written to, and closed if this package opened it.
	to   io.Writer
	file *os.File
	// path is the name that the file gets when everything is written, or "".
	path string
}

// openResult checks that the file can be written. It leaves an existing file unchanged until the
// new content is complete; then a new file, which only its owner can read, replaces it. A file that
// is not regular, such as a pipe, is written to directly.
func openResult(path string) (*result, error) {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		return &result{to: f, file: f}, err
	default:
		path, err = filepath.EvalSymlinks(path)
		if err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // readable only by its owner
	return &result{to: f, file: f, path: path}, err
}

// write writes the whole text, and closes the result.
func (r *result) write(text []byte) error {
	_, err := r.to.Write(text)
	if err != nil || r.file == nil {
		return err
	}
	if r.path == "" {
		return r.close()
	}
	if err := r.file.Sync(); err != nil {
		return err
	}
	if err := r.close(); err != nil {
		return err
	}
	if err := os.Rename(r.file.Name(), r.path); err != nil {
		return fmt.Errorf("replace %s: %w", r.path, err)
	}
	r.path = ""
	return nil
}

// discard closes a result that was not written completely. It may be called after write.
func (r *result) discard() error {
	err := r.close()
	if r.path != "" {
		err = errors.Join(err, os.Remove(r.file.Name()))
	}
	return err
}

func (r *result) close() error {
	if r.file == nil {
		return nil
	}
	if err := r.file.Close(); err != nil && !errors.Is(err, fs.ErrClosed) {
		return err
	}
	return nil
}
