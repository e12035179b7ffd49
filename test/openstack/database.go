// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// SQL carries out statements in a database of the cloud, such as "octavia", past
// its API: for states that the API cannot be asked for.
func (c *Cloud) SQL(ctx context.Context, database, statements string) error {
	command := c.mariadb(ctx, database)
	command.Stdin = strings.NewReader(statements)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("in the cloud's database %s: %w: %s", database, err, out)
	}
	return nil
}

// mariadb returns the client of the cloud's release, which the machine itself may not have. Tests are two folders below
// the root of the repository.
func (c *Cloud) mariadb(ctx context.Context, database string) *exec.Cmd {
	command := exec.CommandContext(ctx, filepath.Join("..", "..", "hack", "openstack", "run.sh"), "mariadb", "--no-defaults", "--user=root",
		"--socket="+c.Socket, "--skip-column-names", "--unbuffered", database)
	command.Env = append(os.Environ(), "OPENSTACK_STATE="+c.State)
	return command
}

// Hold keeps Octavia's worker from ending what it does with amphorae, so that
// load balancers stay PENDING_CREATE or PENDING_DELETE, until release is called.
// That must be within 50 s, because the database lets the worker wait no longer. The API continues
// to answer.
//
// It holds the locks that the worker needs to make an amphora's record, or to
// mark it as deleted.
func (c *Cloud) Hold(ctx context.Context) (release func() error, err error) {
	command := c.mariadb(ctx, "octavia")
	in, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var problems bytes.Buffer
	command.Stderr = &problems
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("hold load balancers: %w", err)
	}
	release = func() error {
		_, err := io.WriteString(in, "ROLLBACK;\n")
		err = errors.Join(err, in.Close(), command.Wait())
		if err != nil {
			err = fmt.Errorf("let load balancers go: %w: %s", err, problems.String())
		}
		return err
	}
	_, err = io.WriteString(in, "START TRANSACTION; SELECT COUNT(*) FROM (SELECT id FROM amphora FOR UPDATE) AS held; SELECT 'held';\n")
	if err == nil {
		err = readUntil(out, "held\n")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("hold load balancers: %w", err), release())
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return release, nil
}

// readUntil reads until the text ends what was read.
func readUntil(r io.Reader, end string) error {
	var read []byte
	for !bytes.HasSuffix(read, []byte(end)) {
		var b [1]byte
		if _, err := r.Read(b[:]); err != nil {
			return fmt.Errorf("after %q: %w", read, err)
		}
		read = append(read, b[0])
	}
	return nil
}
