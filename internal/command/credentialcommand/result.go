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

// result is where a command writes something secret, all of it or nothing.
type result struct {
	// to is written to, and closed if it is a file of ours.
	to   io.Writer
	file *os.File
	// path is what the file is renamed to when all is written, or "".
	path string
}

// openResult makes sure that the file can be written, and leaves what is there as it
// is until there is something else: a new file, which only its owner can read, takes
// its place then. What is no regular file, such as a pipe, is written to as it is.
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
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // for its owner only
	return &result{to: f, file: f, path: path}, err
}

// write writes all there is to write, and ends the result.
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

// discard ends a result to which not all was written. It may be called after write.
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
