// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
)

// checkOutput adds the problem of --output, if it has one.
func checkOutput(p *command.Problems, format string, formats output.Formats) {
	p.Add("output", command.Quoted(format), formats.Check(format))
}

// addOutputFlag adds flag --output with the formats. The first one is the default.
func addOutputFlag(c *cobra.Command, format *string, formats output.Formats) {
	c.Flags().StringVarP(format, "output", "o", string(formats[0]), "output format: "+formats.String())
	completeFormats(c, formats)
}

// check adds the problems of the flags.
func (o *controllerOptions) check(p *command.Problems) {
	o.connection.Check(p)
	o.logging.Check(p)
	o.controllers.check(p)
	p.Require(o.concurrency >= 1, "concurrency", o.concurrency, "must be 1 or more")
	p.Require(o.sweepInterval >= time.Second, "sweep-interval", o.sweepInterval, "must be 1s or more")
	if wrong := validation.IsDNS1123Subdomain(o.cloudConfigSecret); o.cloudConfigSecret != "" && len(wrong) > 0 {
		p.Add("cloud-config-secret", command.Quoted(o.cloudConfigSecret), errors.New("must be the name of a Secret: "+strings.Join(wrong, "; ")))
	}
	p.Add("metrics-bind-address", command.Quoted(o.metricsAddress), checkBindAddress(o.metricsAddress))
	p.Add("health-probe-bind-address", command.Quoted(o.healthAddress), checkBindAddress(o.healthAddress))
	if o.leaderElect {
		o.checkLeaderElection(p)
	}
}

// checkLeaderElection adds the problems of the durations, by the rules of client-go. A Lease stores whole
// seconds.
func (o *controllerOptions) checkLeaderElection(p *command.Problems) {
	leastDeadline := time.Duration(leaderelection.JitterFactor * float64(o.retryPeriod))
	p.Require(o.retryPeriod > 0, "leader-elect-retry-period", o.retryPeriod, "must be above 0s")
	p.Require(o.renewDeadline > leastDeadline, "leader-elect-renew-deadline", o.renewDeadline,
		fmt.Sprintf("must be more than %v, which is %v times --leader-elect-retry-period", leastDeadline, leaderelection.JitterFactor))
	p.Require(o.leaseDuration > o.renewDeadline, "leader-elect-lease-duration", o.leaseDuration,
		fmt.Sprintf("must be more than --leader-elect-renew-deadline, which is %v", o.renewDeadline))
	p.Require(o.leaseDuration >= time.Second, "leader-elect-lease-duration", o.leaseDuration, "must be 1s or more")
}

// checkBindAddress returns what is wrong with an address to listen on; 0 means none.
func checkBindAddress(address string) error {
	const form = "must be an address with a port, such as :8080, 127.0.0.1:8080 or [::1]:8080, or 0 for none"
	if address == "0" {
		return nil
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil || port == "" {
		return errors.New(form)
	}
	if _, err := net.LookupPort("tcp", port); err != nil {
		return fmt.Errorf("%s: there is no port %q", form, port)
	}
	return nil
}
