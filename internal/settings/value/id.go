// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package value parses values that occur both in annotations and in cloud.conf.
//
// The package is pure.
package value

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Object is a kind of object in the cloud.
type Object struct {
	// Name is its name in messages.
	Name string
	// command shows an object by name.
	command string
	// otherwise is the name of a key and an annotation that accept a name instead; it may be empty.
	otherwise string
}

// The objects whose ids users write.
var (
	Network        = Object{Name: "network", command: "openstack network show"}
	Subnet         = Object{Name: "subnet", command: "openstack subnet show"}
	FloatingSubnet = Object{Name: "subnet for floating IPs", command: "openstack subnet show", otherwise: "floating-subnet"}
	Port           = Object{Name: "port", command: "openstack port show"}
	Router         = Object{Name: "router", command: "openstack router show"}
	FloatingIP     = Object{Name: "floating IP", command: "openstack floating ip show"}
	SecurityGroup  = Object{Name: "security group", command: "openstack security group show"}
	Flavor         = Object{Name: "Octavia flavor", command: "openstack loadbalancer flavor show"}
)

// IDPattern is a regular expression (RE2) for the ids that ParseID accepts.
const IDPattern = `^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32})$`

var idPattern = regexp.MustCompile(IDPattern)

// ParseID parses an id, which is a UUID with or without hyphens, and returns it as Neutron and Octavia write it: in
// lower case, with hyphens. An empty text stays empty. The text of the error is MustBe.
func (o Object) ParseID(text string) (string, error) {
	if text == "" {
		return "", nil
	}
	if !idPattern.MatchString(text) {
		return "", errors.New(o.MustBe())
	}
	id := strings.ToLower(strings.ReplaceAll(text, "-", ""))
	return strings.Join([]string{id[:8], id[8:12], id[12:16], id[16:20], id[20:]}, "-"), nil
}

// MustBe describes an id and how to find it: "must be ...".
func (o Object) MustBe() string {
	text := fmt.Sprintf("must be the id of a %s, such as 3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04, not its name; this shows the id: %s NAME -f value -c id", o.Name, o.command)
	if o.otherwise != "" {
		text += "; " + o.otherwise + " takes names"
	}
	return strings.Replace(text, "a Octavia", "an Octavia", 1)
}

// MustBeNot is MustBe for a user who wrote a name: the command contains the name, if it needs no quoting in a
// shell.
func (o Object) MustBeNot(name string) string {
	if !plainName.MatchString(name) {
		return o.MustBe()
	}
	return strings.Replace(o.MustBe(), " NAME ", " "+name+" ", 1)
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._-]*$`)
