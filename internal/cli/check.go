// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/tools/leaderelection"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// problems collects what is wrong with flags, so that all of it is named at once.
type problems []error

// add adds the problem of a flag, unless it is nil.
func (p *problems) add(flag string, value any, problem error) {
	if problem != nil {
		*p = append(*p, fmt.Errorf("--%s %v: %w", flag, value, problem))
	}
}

// require adds the problem of a flag unless it has the right form.
func (p *problems) require(right bool, flag string, value any, form string) {
	if !right {
		p.add(flag, value, errors.New(form))
	}
}

func (p *problems) err() error { return errors.Join(*p...) }

// quoted is a value as errors show it.
func quoted(text string) string { return fmt.Sprintf("%q", text) }

// check adds the problems of the flags.
func (c *connection) check(p *problems) {
	c.checkCloud(p)
	p.add("cluster-name", quoted(c.clusterName), lb.CheckClusterName(c.clusterName))
	if wrong := validation.IsQualifiedName(c.loadBalancerClass); len(wrong) > 0 {
		p.add("load-balancer-class", quoted(c.loadBalancerClass), fmt.Errorf("must be a name with an optional prefix, such as %s or my-class: %s",
			DefaultLoadBalancerClass, strings.Join(wrong, "; ")))
	}
}

// checkCloud adds the problems of the flags for the cloud.
func (c *connection) checkCloud(p *problems) {
	if c.cloudConfig == "" {
		*p = append(*p, errors.New("--cloud-config is required: the path of cloud.conf"))
	}
	p.require(c.cloudRate > 0 && !math.IsInf(c.cloudRate, 0), "cloud-rate", c.cloudRate, "must be above 0: calls per second")
	p.require(c.cloudBurst > 0, "cloud-burst", c.cloudBurst, "must be 1 or more: calls at once")
}

// check adds the problems of the flags.
func (l *logging) check(p *problems) {
	p.require(l.format == "text" || l.format == "json", "log-format", quoted(l.format), "must be text or json")
	p.require(l.verbosity >= 0 && l.verbosity <= maxVerbosity, "v", l.verbosity, "must be 0 to 9")
}

// checkOutput adds the problem of --output.
func checkOutput(p *problems, output string) {
	p.require(output == "text" || output == "json", "output", quoted(output), "must be text or json")
}

// check adds the problems of the flags.
func (o *controllerOptions) check(p *problems) {
	o.connection.check(p)
	o.logging.check(p)
	o.controllers.check(p)
	p.require(o.concurrency >= 1, "concurrency", o.concurrency, "must be 1 or more")
	p.require(o.sweepInterval >= time.Second, "sweep-interval", o.sweepInterval, "must be 1s or more")
	p.add("metrics-bind-address", quoted(o.metricsAddress), checkBindAddress(o.metricsAddress))
	p.add("health-probe-bind-address", quoted(o.healthAddress), checkBindAddress(o.healthAddress))
	if o.leaderElect {
		o.checkLeaderElection(p)
	}
}

// checkLeaderElection adds the problems of the durations, by the rules of client-go. A Lease holds whole seconds.
func (o *controllerOptions) checkLeaderElection(p *problems) {
	leastDeadline := time.Duration(leaderelection.JitterFactor * float64(o.retryPeriod))
	p.require(o.retryPeriod > 0, "leader-elect-retry-period", o.retryPeriod, "must be above 0s")
	p.require(o.renewDeadline > leastDeadline, "leader-elect-renew-deadline", o.renewDeadline,
		fmt.Sprintf("must be more than %v, which is %v times --leader-elect-retry-period", leastDeadline, leaderelection.JitterFactor))
	p.require(o.leaseDuration > o.renewDeadline, "leader-elect-lease-duration", o.leaseDuration,
		fmt.Sprintf("must be more than --leader-elect-renew-deadline, which is %v", o.renewDeadline))
	p.require(o.leaseDuration >= time.Second, "leader-elect-lease-duration", o.leaseDuration, "must be 1s or more")
}

// checkBindAddress returns what is wrong with an address to listen at; 0 stands for none.
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
