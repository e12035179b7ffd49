// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"slices"
)

// release is a release of OpenStack, by the name that hack/openstack has for it.
type release string

const (
	release2022 release = "2022.2"
	release2025 release = "2025.1"
	newest      release = "newest"
)

// releases are those that the contract is recorded from, the oldest first.
var releases = []release{release2022, release2025, newest}

// parseRelease returns the release of that name.
func parseRelease(name string) (release, error) {
	if r := release(name); slices.Contains(releases, r) {
		return r, nil
	}
	return "", fmt.Errorf("OpenStack release %q: the contract has recordings of %v only", name, releases)
}

// before reports whether r is older than other.
func (r release) before(other release) bool {
	return slices.Index(releases, r) < slices.Index(releases, other)
}

// upTo lists the releases that are not newer than r, the oldest first.
func (r release) upTo() []release { return releases[:slices.Index(releases, r)+1] }

// newestVersions are the newest API versions of Octavia and Nova by release. What Debian has
// newest changes from month to month, so that is not stated.
var newestVersions = map[release]struct{ octavia, nova string }{
	release2022: {"v2.26", "2.93"},
	release2025: {"v2.30", "2.100"},
}

// since is for a case that holds from the release on; in older ones it is skipped.
func since(first release, do func(*try)) func(*try) {
	return func(c *try) {
		c.Helper()
		if c.cloud.release.before(first) {
			c.Skipf("this holds from release %s on, and the cloud is of %s", first, c.cloud.release)
		}
		do(c)
	}
}

// until is for a case that holds up to the release; in newer ones it is skipped.
func until(last release, do func(*try)) func(*try) {
	return func(c *try) {
		c.Helper()
		if last.before(c.cloud.release) {
			c.Skipf("this holds up to release %s, and the cloud is of %s", last, c.cloud.release)
		}
		do(c)
	}
}

// except is for a case that holds in all releases but one.
func except(r release, do func(*try)) func(*try) {
	return func(c *try) {
		c.Helper()
		if c.cloud.release == r {
			c.Skipf("this does not hold in release %s, of which the cloud is", r)
		}
		do(c)
	}
}
