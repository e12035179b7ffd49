// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
	"github.com/spdx/tools-golang/spdxlib"
)

// bill is a software bill of materials (SBOM), in SPDX 2.3, that is being written.
type bill struct{ document *v2_3.Document }

// newBill returns an SBOM. The name and the SHA-256 checksum of its subject make its namespace unique.
func newBill(s source, name, sha256 string) bill {
	return bill{&v2_3.Document{
		SPDXVersion: v2_3.Version, DataLicense: v2_3.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      name,
		DocumentNamespace: sourceURL + "/spdx/" + url.PathEscape(name) + "-" + sha256,
		CreationInfo: &v2_3.CreationInfo{
			Created: s.time.Format(time.RFC3339),
			Creators: []common.Creator{
				{CreatorType: "Organization", Creator: "The kube-octavia Authors"},
				{CreatorType: "Tool", Creator: "kube-octavia-hack-release-" + s.version},
			},
		},
	}}
}

// programBill returns the SBOM of a program.
func programBill(s source, name string, p program, components []component) ([]byte, error) {
	b := newBill(s, name, checksum(p.content))
	b.relate("DOCUMENT", common.TypeRelationshipDescribe, b.addProgram(s, p, components))
	return b.write()
}

// imageBill returns the SBOM of an image with a digest (sha256:...). It contains the programs, each
// with the components of its build information, and the root certificates.
func imageBill(s source, name, digest string, programs []program, components []component, roots component) ([]byte, error) {
	hash := strings.TrimPrefix(digest, "sha256:")
	b := newBill(s, name, hash)
	image := b.add(&v2_3.Package{
		PackageName: programName, PackageSPDXIdentifier: "Image", PackageVersion: s.version,
		PackageDownloadLocation: noAssertion, PackageLicenseDeclared: "Apache-2.0",
		PackageChecksums:      []common.Checksum{{Algorithm: common.SHA256, Value: hash}},
		PrimaryPackagePurpose: "CONTAINER",
		PackageExternalReferences: []*v2_3.PackageExternalReference{
			packageURL("pkg:oci/" + programName + "@" + url.QueryEscape(digest) + "?tag=" + url.QueryEscape(s.version)),
		},
	})
	b.relate("DOCUMENT", common.TypeRelationshipDescribe, image)
	for _, p := range programs {
		b.relate(image, common.TypeRelationshipContains, b.addProgram(s, p, components))
	}
	b.relate(image, common.TypeRelationshipContains, b.addComponent(roots))
	return b.write()
}

// addProgram adds a program and its components.
func (b bill) addProgram(s source, p program, components []component) common.ElementID {
	id := b.add(&v2_3.Package{
		PackageName: p.modules.Main.Path, PackageSPDXIdentifier: elementID("Program", p.platform.os, p.platform.arch),
		PackageVersion: s.version, PackageDownloadLocation: "git+" + sourceURL + "@" + s.revision,
		PackageLicenseDeclared: "Apache-2.0", PackageSummary: programName + " for " + p.platform.String(),
		PackageChecksums:          []common.Checksum{{Algorithm: common.SHA256, Value: checksum(p.content)}},
		PrimaryPackagePurpose:     "APPLICATION",
		PackageExternalReferences: []*v2_3.PackageExternalReference{packageURL(goPackageURL(p.modules.Main.Path, s.version))},
	})
	contained := map[string]bool{standardLibrary: true}
	for _, m := range p.modules.Deps {
		contained[replaced(m).Path] = true
	}
	for _, c := range components {
		if contained[c.path] {
			b.relate(id, common.TypeRelationshipContains, b.addComponent(c))
		}
	}
	return id
}

// addComponent adds a component, unless it exists already.
func (b bill) addComponent(c component) common.ElementID {
	added := &v2_3.Package{
		PackageName: c.path, PackageSPDXIdentifier: elementID("Module", c.path, c.version), PackageVersion: c.version,
		PackageDownloadLocation: noAssertion, PackageLicenseDeclared: c.licence, PrimaryPackagePurpose: "LIBRARY",
		PackageExternalReferences: []*v2_3.PackageExternalReference{packageURL(goPackageURL(c.path, c.version))},
	}
	if hash, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(c.sum, "h1:")); err == nil && len(hash) == sha256.Size {
		added.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: hex.EncodeToString(hash)}}
		added.PackageComment = "The checksum is that of go.sum, " + c.sum + ", in hexadecimal digits."
	}
	for _, other := range b.document.Packages {
		if other.PackageSPDXIdentifier == added.PackageSPDXIdentifier {
			return other.PackageSPDXIdentifier
		}
	}
	return b.add(added)
}

// add adds a package, and fills in the fields that are unknown for all packages.
func (b bill) add(p *v2_3.Package) common.ElementID {
	p.PackageLicenseConcluded, p.PackageCopyrightText = noAssertion, noAssertion
	p.PackageSupplier = &common.Supplier{Supplier: noAssertion}
	b.document.Packages = append(b.document.Packages, p)
	return p.PackageSPDXIdentifier
}

func (b bill) relate(from common.ElementID, relationship string, to common.ElementID) {
	b.document.Relationships = append(b.document.Relationships, &v2_3.Relationship{
		RefA: common.DocElementID{ElementRefID: from}, RefB: common.DocElementID{ElementRefID: to}, Relationship: relationship,
	})
}

// write returns the SBOM as JSON, or an error if it is not valid.
func (b bill) write() ([]byte, error) {
	if err := spdxlib.ValidateDocument(b.document); err != nil {
		return nil, fmt.Errorf("the SBOM of %s is not valid: %w", b.document.DocumentName, err)
	}
	var text bytes.Buffer
	if err := json.Write(b.document, &text, json.Indent("  "), json.EscapeHTML(false)); err != nil {
		return nil, fmt.Errorf("write the SBOM of %s: %w", b.document.DocumentName, err)
	}
	return text.Bytes(), nil
}

// notInID are the characters that an SPDX identifier cannot have.
var notInID = regexp.MustCompile(`[^a-zA-Z0-9.-]+`)

func elementID(parts ...string) common.ElementID {
	return common.ElementID(notInID.ReplaceAllString(strings.Join(parts, "-"), "-"))
}

// goPackageURL returns the purl of a module, with which scanners find its vulnerabilities.
func goPackageURL(path, version string) string {
	return "pkg:golang/" + strings.ToLower(path) + "@" + url.QueryEscape(version)
}

func packageURL(purl string) *v2_3.PackageExternalReference {
	return &v2_3.PackageExternalReference{Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: purl}
}

// checksum returns the SHA-256 checksum, in hexadecimal digits.
func checksum(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}
