// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	metricsKey        = "kube-octavia.io/metrics-port"
	metricsSourcesKey = "kube-octavia.io/metrics-allowed-cidrs"
)

// measured checks that the load balancer tells metrics at the port to these sources alone, or,
// without a port, at none.
func measured(port int, sources ...string) func(tree) error {
	return func(have tree) error {
		for _, l := range have.Listeners {
			switch {
			case l.Protocol != "PROMETHEUS":
			case testPort(l.Port) != port || !slices.Equal(l.Sources, sources) || l.PoolID != "" || l.Status != "ACTIVE":
				return fmt.Errorf("there is %+v, want port %d for %v", l, port, sources)
			default:
				return nil
			}
		}
		if port != 0 {
			return fmt.Errorf("no port tells metrics")
		}
		return nil
	}
}

// scrape reads metrics, as Prometheus does.
func scrape(address string, port int) error {
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Get("http://" + endpoint(address, port) + "/metrics")
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && !strings.Contains(string(text), "octavia_loadbalancer_") {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	return err
}

func TestMetricsPortAdmitsAllowedClientsOnly(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no metrics")
	skipOnRealOpenStack(t, "the listener for metrics is in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)

	web.change(annotated(metricsKey, fmt.Sprint(freePort(9100))))
	t.Log(web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation").Message)
	if err := measured(0)(web.tree()); err != nil {
		t.Error(err)
	}
	web.change(annotated(metricsSourcesKey, "127.0.0.0/8"))
	web.waitForTree(measured(9100, "127.0.0.0/8"))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	if said := web.waitForCondition(programmed, conditionTrue, "Programmed").Message; !strings.Contains(said, "serves 1 port ") {
		t.Errorf("the Service is told %q", said)
	}
	if *stateDir == "" {
		s.eventually(func() error { return scrape(address, 9100) })
	}

	web.change(annotated(metricsSourcesKey, "192.0.2.0/24"))
	web.waitForTree(measured(9100, "192.0.2.0/24"))
	if *stateDir == "" {
		s.eventually(func() error {
			if scrape(address, 9100) == nil {
				return fmt.Errorf("metrics are told to whom they are not for")
			}
			return nil
		})
	}

	web.change(annotated(metricsKey, fmt.Sprint(freePort(8080))))
	t.Log(web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation").Message)
	web.waitForTree(measured(9100, "192.0.2.0/24"))
	web.change(notAnnotated(metricsKey))
	web.waitForTree(measured(0))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	s.requireNoFailedRequest(visitor)
}

func TestMetricsPortBelongsToTheOwnerOfALoadBalancerAndNotToSharers(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn has no metrics")
	skipOnRealOpenStack(t, "the listener for metrics is in the contract")
	s := newStage(t, settings{conf: []string{"metrics-allowed-cidrs=10.0.0.0/8"}})
	web := s.service("web", tcp(8080), annotated(metricsKey, fmt.Sprint(freePort(9100))))
	address := web.waitUntilProgrammed()
	have := web.waitForTree(measured(9100, "10.0.0.0/8"))
	api := s.service("api", tcp(9090), annotated(idKey, have.ID), annotated(metricsKey, fmt.Sprint(freePort(9101))))
	t.Log(api.waitForCondition(accepted, conditionFalse, "SharingRefused").Message)
	api.change(notAnnotated(metricsKey), tcp(9100))
	t.Log(api.waitForCondition(accepted, conditionFalse, "PortInUse").Message)
	api.change(without(9100))
	if got := api.waitUntilProgrammed(); got != address {
		t.Errorf("the guest is at %s", got)
	}
	web.waitForTree(measured(9100, "10.0.0.0/8"))
	api.delete() // before the one that owns the floating IP
	api.waitUntilGone()
}
