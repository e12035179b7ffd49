// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// secret is the password in the files of these tests; it must never be shown.
const secret = "hunter2"

// goodConf is a cloud.conf of a cloud that no test may reach.
const goodConf = "[Global]\nauth-url = http://127.0.0.1:1/v3\nuser-id = u\npassword = " + secret + "\n"

// file writes text to a file of the test and returns its path.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
