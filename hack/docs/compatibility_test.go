// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// testsOfTheProject returns the names of all its test functions.
func testsOfTheProject(t *testing.T) map[string]bool {
	t.Helper()
	found, function := map[string]bool{}, regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.HasPrefix(entry.Name(), ".") && entry.Name() != "..":
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(text, -1) {
			found[string(m[1])] = true
		}
		return err
	})
	if err != nil || len(found) < 100 {
		t.Fatalf("%d tests found: %v", len(found), err)
	}
	return found
}

func TestCompatibilityNamesOnlyTestsThatExist(t *testing.T) {
	exists := testsOfTheProject(t)
	for _, m := range regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(read(t, filepath.Join(docsDir, "compatibility.md")), -1) {
		if !exists[m[1]] {
			t.Errorf("there is no %s", m[1])
		}
	}
}

func TestCompatibilityHasARowForEveryAnnotationKeyAndRequest(t *testing.T) {
	page := read(t, filepath.Join(docsDir, "compatibility.md"))
	row := func(name string) bool {
		return regexp.MustCompile("(?m)^\\|[^|]*`" + regexp.QuoteMeta(name) + "`[^|]*\\| [^|\\s]").MatchString(page)
	}
	for _, a := range annotation.Table {
		if own := strings.HasPrefix(a.Key, annotation.OwnPrefix); !own && !row(a.Key) {
			t.Errorf("annotation %s has no row", a.Key)
		}
	}
	for _, key := range config.Keys() {
		if key.Section == "LoadBalancer" && !row(key.Name) {
			t.Errorf("[LoadBalancer] %s has no row", key.Name)
		}
	}
	for i := 1; i <= 28; i++ {
		if !regexp.MustCompile(fmt.Sprintf(`(?m)^\| %d \| [^|]+ \| [^|\s]`, i)).MatchString(page) {
			t.Errorf("wish %d has no row", i)
		}
	}
}
