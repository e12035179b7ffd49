// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package othercontroller

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// serviceController are the names of the controller of Services in flag --controllers.
var serviceController = []string{"service", "service-lb-controller"}

// nodeController are the names of the controller that initializes Nodes.
var nodeController = []string{"cloud-node", "cloud-node-controller"}

// quotes removes the quotes of a shell.
var quotes = strings.NewReplacer(`"`, "", "'", "")

// ServesServices reports whether a cloud controller manager with these arguments runs the service controller.
func (w Workload) ServesServices() bool { return w.runs(serviceController) }

// InitializesNodes reports whether it runs the controller that initializes Nodes.
func (w Workload) InitializesNodes() bool { return w.runs(nodeController) }

// runs reports whether it runs the controller with these names. As in k8s.io/cloud-provider, the flag can be repeated,
// and the first element that names the controller decides. With arguments that cannot be parsed, the controller is
// assumed to run.
func (w Workload) runs(names []string) bool {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.ParseErrorsAllowlist.UnknownFlags = true
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	controllers := flags.StringSlice("controllers", []string{"*"}, "")
	var words []string
	for _, arg := range w.Args {
		words = append(words, strings.Fields(quotes.Replace(arg))...) // a shell command is one argument
	}
	if err := flags.Parse(words); err != nil {
		return true
	}
	all := false
	for _, c := range *controllers {
		for _, name := range names {
			switch c {
			case name:
				return true
			case "-" + name:
				return false
			case "*":
				all = true
			}
		}
	}
	return all
}

// writesAddress reports whether the fields of an entry of managedFields contain status.loadBalancer.
func writesAddress(fields string) bool { return strings.Contains(fields, `"f:loadBalancer"`) }

// The labels on the Lease of each instance of kube-octavia, by which others find it.
const (
	// ClassLabel has --load-balancer-class, in the form of a label value.
	ClassLabel = "kube-octavia.io/load-balancer-class"
	// DefaultLabel has --handle-default-class.
	DefaultLabel = "kube-octavia.io/handle-default-class"
)

// longestValue is the maximum length of a label value.
const longestValue = 63

// Labels returns the labels of the Lease of a controller with the policy. A class may contain a slash, which is
// replaced by a dot. A class that is too long for a label value is replaced by its hash.
func Labels(p claim.Policy) map[string]string {
	class := strings.ReplaceAll(p.LoadBalancerClass, "/", ".")
	if len(class) > longestValue {
		sum := sha256.Sum256([]byte(p.LoadBalancerClass))
		class = hex.EncodeToString(sum[:])[:longestValue]
	}
	return map[string]string{ClassLabel: class, DefaultLabel: strconv.FormatBool(p.DefaultClass)}
}
