// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestMain also runs as the program in the network namespace.
func TestMain(m *testing.M) {
	if os.Getenv(insideVariable) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestTheCommandsOfTheInstallPageLeadToAServiceThatAnswers(t *testing.T) {
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("it needs root on Linux")
	}
	if testing.Short() {
		t.Skip("it builds helm and the image")
	}
	for _, method := range methods {
		t.Run(method, func(t *testing.T) {
			var out bytes.Buffer
			err := run(t.Context(), []string{method}, &out)
			t.Logf("%s", out.String())
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(out.String(), "answers 200 OK") {
				t.Error("the Service was not asked")
			}
		})
	}
}

func TestBlocksOfAPageAreItsIndentedLines(t *testing.T) {
	have := blocks("Run this:\n\n    one\n      two\n\n    three\n\nThen\n\n    four\n")
	if diff := cmp.Diff(page{"one\n  two\n\nthree\n", "four\n"}, have); diff != "" {
		t.Error(diff)
	}
	for text, count := range map[string]string{"five": "0 blocks", "o": "2 blocks"} {
		if _, err := have.block(text); err == nil || !strings.Contains(err.Error(), count) {
			t.Errorf("with %q: %v", text, err)
		}
	}
}
