// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/operate/tree"
)

// Print prints the plan as a tree: Services with their objects, then objects that belong to no single
// Service.
func (p Plan) Print(out io.Writer) error {
	var b bytes.Buffer
	p.printHead(&b)
	for i := 0; i < len(p.Objects); {
		service := tree.Node{Text: serviceTitle(p.Objects[i].Service)}
		for of := p.Objects[i].Service; i < len(p.Objects) && p.Objects[i].Service == of; i++ {
			service.Below = append(service.Below, tree.Node{Text: p.Objects[i].title() + " " + p.Objects[i].fate()})
		}
		b.WriteString(service.String())
	}
	_, err := out.Write(b.Bytes())
	return err
}

func (p Plan) printHead(out io.Writer) {
	c := p.Cluster
	switch {
	case c.UID == "":
		fmt.Fprintf(out, "Cluster %s, by names and descriptions\n", c.Name)
	case c.Name == "":
		fmt.Fprintf(out, "Cluster with uid %s\n", c.UID)
	default:
		fmt.Fprintf(out, "Cluster %s, uid %s\n", c.Name, c.UID)
	}
	for _, uid := range p.OtherClusters {
		fmt.Fprintf(out, "Warning: another cluster (uid %s) has the same name. Objects without a uid are kept.\n", uid)
	}
	for _, what := range p.Unread {
		fmt.Fprintf(out, "Warning: not shown, because it could not be read: %s\n", what)
	}
	counts, detached := map[Kind]int{}, 0
	for _, o := range p.Remaining() {
		if o.Detach {
			detached++
			continue
		}
		counts[o.Kind]++
	}
	kept := len(p.Objects) - len(p.Remaining())
	var parts []string
	for _, k := range []Kind{LoadBalancer, FloatingIP, SecurityGroup, Certificate, Port, Route} {
		if n := counts[k]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, plural(n, string(k))))
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing"}
	}
	fmt.Fprintf(out, "To delete: %s. ", strings.Join(parts, ", "))
	if detached > 0 {
		fmt.Fprintf(out, "To detach: %d %s. ", detached, plural(detached, string(FloatingIP)))
	}
	fmt.Fprintf(out, "Kept: %d.\n\n", kept)
}

func plural(n int, what string) string {
	if n == 1 {
		return what
	}
	return what + "s"
}

func serviceTitle(service string) string {
	if service == "" {
		return "(for all Services, or unknown)"
	}
	return service
}

// title returns the object's kind, name and id, and the state of a load balancer.
func (o Object) title() string {
	parts := []string{string(o.Kind)}
	if o.Name != "" {
		parts = append(parts, o.Name)
	}
	parts = append(parts, "("+o.ID+")")
	if o.State != "" {
		parts = append(parts, string(o.State))
	}
	return strings.Join(parts, " ")
}

// fate returns what happens to the object.
func (o Object) fate() string {
	switch {
	case o.Keep != "":
		return "- kept: " + o.Keep
	case o.Detach:
		return "- detach, and keep it in the project"
	case o.Waits != "":
		return "- delete later: " + o.Waits
	}
	return "- delete"
}
