// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdxlib"
)

// modulesOf returns the modules of a program, as `go version -m` prints them: path and version.
func modulesOf(t *testing.T, program []byte) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, program, modeExecutable); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "version", "-m", path).Output()
	if err != nil {
		t.Fatal(err)
	}
	var modules []string
	for _, line := range strings.Split(string(out), "\n") {
		if fields := strings.Fields(line); len(fields) >= 3 && fields[0] == "dep" {
			modules = append(modules, fields[1]+" "+fields[2])
		}
	}
	if len(modules) < 20 {
		t.Fatalf("only %d modules:\n%s", len(modules), out)
	}
	return modules
}

// readBill reads an SBOM of a release, and checks what all SBOMs have in common.
func readBill(t *testing.T, r release, name string) *spdx.Document {
	t.Helper()
	document, err := json.Read(bytes.NewReader(r.read(t, name)))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Error(err)
	}
	if document.SPDXVersion != "SPDX-2.3" || document.CreationInfo.Created != "2023-11-14T22:13:20Z" {
		t.Errorf("%s of %s", document.SPDXVersion, document.CreationInfo.Created)
	}
	if described, err := spdxlib.GetDescribedPackageIDs(document); err != nil || len(described) != 1 {
		t.Errorf("it describes %v, %v", described, err)
	}
	ids := map[common.ElementID]bool{}
	for _, p := range document.Packages {
		if ids[p.PackageSPDXIdentifier] {
			t.Errorf("two packages are %s", p.PackageSPDXIdentifier)
		}
		ids[p.PackageSPDXIdentifier] = true
		if p.PackageLicenseDeclared == noAssertion {
			t.Errorf("the licence of %s was not recognized", p.PackageName)
		}
		if (len(p.PackageChecksums) != 1 || len(p.PackageChecksums[0].Value) != 64) && p.PackageName != standardLibrary {
			t.Errorf("%s has checksums %v", p.PackageName, p.PackageChecksums)
		}
	}
	return document
}

// packages returns the names and versions of the packages in an SBOM.
func packages(document *spdx.Document) []string {
	var all []string
	for _, p := range document.Packages {
		all = append(all, p.PackageName+" "+p.PackageVersion)
	}
	slices.Sort(all)
	return all
}

func TestSBOMOfAProgramListsExactlyItsModules(t *testing.T) {
	r, _ := sharedReleases(t)
	name := "kube-octavia-v1.2.3-linux-" + testPlatform.arch
	_, contents, _ := untar(t, gunzip(t, r.read(t, name+".tar.gz")))
	document := readBill(t, r, name+".spdx.json")
	want := append(modulesOf(t, contents[programName]), "github.com/kube-octavia/kube-octavia v1.2.3", "stdlib "+goVersion(t))
	slices.Sort(want)
	if diff := cmp.Diff(want, packages(document)); diff != "" {
		t.Errorf("packages (-program +SBOM):\n%s", diff)
	}
	if got, want := document.Packages[0].PackageChecksums[0].Value, checksum(contents[programName]); got != want {
		t.Errorf("the checksum of the program is %s, want %s", got, want)
	}
}

func TestSBOMOfTheImageListsTheRootCertificates(t *testing.T) {
	r, _ := sharedReleases(t)
	image := readBill(t, r, "kube-octavia-v1.2.3-image.spdx.json")
	program := readBill(t, r, "kube-octavia-v1.2.3-linux-"+testPlatform.arch+".spdx.json")
	roots, err := moduleComponents(t.Context(), ".", []string{rootsModule})
	if err != nil {
		t.Fatal(err)
	}
	want := append(packages(program), "kube-octavia v1.2.3", roots[0].String())
	slices.Sort(want)
	if diff := cmp.Diff(want, packages(image)); diff != "" {
		t.Errorf("packages (-want +SBOM):\n%s", diff)
	}
	if got := "sha256:" + image.Packages[0].PackageChecksums[0].Value; got != r.digest(t) {
		t.Errorf("the SBOM is of the image %s, and not of %s", got, r.digest(t))
	}
}

func TestLicencesAreRecognizedByTheirText(t *testing.T) {
	apache, err := os.ReadFile("../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string

		texts []string
		want  string
	}{
		{"the Apache licence", []string{string(apache)}, "Apache-2.0"},
		{"the same licence twice", []string{string(apache), string(apache)}, "Apache-2.0"},
		{"an unknown text", []string{"All rights reserved. Do not use."}, noAssertion},
		{"no text", nil, noAssertion},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := licenceExpression(c.texts); got != c.want {
				t.Errorf("%.40q: %s, want %s", c.texts, got, c.want)
			}
		})
	}
}

// goVersion returns the version of the compiler in the format of SBOMs.
func goVersion(t *testing.T) string {
	t.Helper()
	version, err := goCommand(t.Context(), ".", "env", "GOVERSION")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(version, "go")
}
