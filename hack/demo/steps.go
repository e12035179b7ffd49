// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// waitTimeout is the limit of each wait.
const waitTimeout = time.Minute

// runSteps runs the steps of the demo. It returns an error at the first step that fails.
func runSteps(ctx context.Context, p *printer, s *stage) error {
	steps := []func(context.Context, *printer, *stage) error{
		serviceIsPending, opsArePlanned, loadBalancerIsBuilt, trafficFlows, nodeLeaves, serviceGoes,
	}
	if s.targets.pods() {
		steps[3], steps[4] = trafficFlowsToPods, podIsReplaced
	}
	if s.allControllers {
		steps = slices.Insert(steps, 3, nodesAreInitialized)
	}
	for _, step := range steps {
		if err := step(ctx, p, s); err != nil {
			return err
		}
	}
	return nil
}

func serviceIsPending(ctx context.Context, p *printer, s *stage) error {
	p.step("A Service of type LoadBalancer")
	service := s.service(plainName, "http", s.port)
	if s.targets.pods() {
		p.note("its members will be Pods: annotation %s: %s, and no NodePorts", annotation.TargetType, config.PodTargets)
	}
	if _, err := s.client.CoreV1().Services(namespace).Create(ctx, service, metav1.CreateOptions{}); err != nil {
		return err
	}
	output := s.kubectl(ctx, "get", "service", "hello")
	p.show("kubectl get service hello", output)
	if !strings.Contains(output, "<pending>") {
		return fmt.Errorf("the Service is not pending")
	}
	return nil
}

func opsArePlanned(ctx context.Context, p *printer, s *stage) error {
	p.step("What the controller would do")
	exit, output := s.plan(ctx)
	p.show("kubectl octavia plan", output)
	if exit != 2 || !strings.Contains(output, "create load balancer") || !strings.Contains(output, "create floating IP") {
		return fmt.Errorf("the plan (exit status %d) does not create a load balancer and a floating IP", exit)
	}
	return nil
}

func loadBalancerIsBuilt(ctx context.Context, p *printer, s *stage) error {
	p.step("The controller starts")
	if err := s.startController(); err != nil {
		return err
	}
	seen := map[string]bool{}
	last := ""
	err := until(ctx, func() (bool, error) {
		select {
		case status := <-s.stopped:
			s.stopped <- status
			return false, fmt.Errorf("the controller ended with status %d", status)
		default:
		}
		service, err := s.client.CoreV1().Services(namespace).Get(ctx, "hello", metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		c := meta.FindStatusCondition(service.Status.Conditions, status.Programmed)
		state, err := s.loadBalancerStatus(ctx)
		if err != nil {
			return false, err
		}
		if state != "" && !seen[state] {
			seen[state] = true
			p.note("Octavia: %s", state)
			p.doing("Octavia builds the load balancer")
		}
		if c != nil && c.Message != last {
			last = c.Message
			p.note("%s=%s: %s", status.Programmed, c.Status, c.Message)
		}
		return c != nil && c.Status == metav1.ConditionTrue, nil
	})
	if err != nil {
		return fmt.Errorf("wait for the Service to be programmed: %w", err)
	}
	if !seen["ACTIVE"] || s.cloud.builds() && !seen["PENDING_CREATE"] {
		return fmt.Errorf("the load balancer was not observed as pending and then ACTIVE")
	}
	p.show("kubectl get service hello", s.kubectl(ctx, "get", "service", "hello"))
	return nil
}

// loadBalancerStatus returns the status of Octavia's only load balancer, or "".
func (s *stage) loadBalancerStatus(ctx context.Context) (string, error) {
	heads, err := octavia.New(s.session.LoadBalancer(), s.session.ProjectID(), lb.Capabilities{}).Heads(ctx, "")
	if err != nil || len(heads) == 0 {
		return "", err
	}
	return string(heads[0].ProvisioningStatus), nil
}

func nodesAreInitialized(ctx context.Context, p *printer, s *stage) error {
	p.step("The controller has initialized the Nodes")
	err := until(ctx, func() (bool, error) {
		nodes, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for _, n := range nodes.Items {
			if len(n.Spec.Taints) > 0 || n.Spec.ProviderID == "" || len(n.Status.Addresses) < 2 {
				return false, nil
			}
		}
		return len(nodes.Items) >= 2, nil
	})
	p.show("kubectl get nodes", s.kubectl(ctx, "get", "nodes", "-o", nodeColumns))
	if err != nil {
		return fmt.Errorf("wait for the Nodes to be initialized: %w", err)
	}
	return nil
}

func trafficFlows(ctx context.Context, p *printer, s *stage) error {
	p.step("Traffic through the floating IP, over both nodes to both Pods")
	address, err := s.address(ctx)
	if err != nil {
		return err
	}
	return s.answersFrom(ctx, p, address, nodeName(1), nodeName(2))
}

func nodeLeaves(ctx context.Context, p *printer, s *stage) error {
	p.step("%s leaves, and traffic goes on", nodeName(2))
	address, err := s.address(ctx)
	if err != nil {
		return err
	}
	if err := s.nodes.Unregister(ctx, nodeName(2)); err != nil {
		return err
	}
	if err := s.asksUntil(ctx, p, address, func() (bool, error) { return s.hasMembers(ctx, 1) }); err != nil {
		return err
	}
	if err := s.nodes.Remove(ctx, nodeName(2)); err != nil {
		return err
	}
	return s.answersFrom(ctx, p, address, nodeName(1))
}

func trafficFlowsToPods(ctx context.Context, p *printer, s *stage) error {
	p.step("Traffic through the floating IP, straight to both Pods")
	address, err := s.address(ctx)
	if err != nil {
		return err
	}
	return s.answersFrom(ctx, p, address, nodeName(1), nodeName(2))
}

// podIsReplaced replaces a Pod by another one on the same node.
func podIsReplaced(ctx context.Context, p *printer, s *stage) error {
	p.step("Pod %s is replaced by %s, and traffic goes on", podName(2), podName(3))
	address, err := s.address(ctx)
	if err != nil {
		return err
	}
	if err := s.runPod(ctx, 3, nodeName(1)); err != nil {
		return err
	}
	if err := s.asksUntil(ctx, p, address, func() (bool, error) { return s.hasMembers(ctx, 3) }); err != nil {
		return err
	}
	gone := make(chan error, 1)
	go func() { gone <- s.nodes.DeletePod(ctx, namespace, podName(2)) }()
	if err := s.asksUntil(ctx, p, address, func() (bool, error) { return s.hasMembers(ctx, 2) }); err != nil {
		return err
	}
	if err := <-gone; err != nil {
		return err
	}
	return s.answersFrom(ctx, p, address, nodeName(1))
}

func (s *stage) hasMembers(ctx context.Context, n int) (bool, error) {
	has, err := s.inventory(ctx)
	return has.members == s.before.members+n, err
}

// asksUntil makes requests to the Service until holds returns true. All requests must succeed.
func (s *stage) asksUntil(ctx context.Context, p *printer, address string, holds func() (bool, error)) error {
	failed, asked := 0, 0
	err := until(ctx, func() (bool, error) {
		asked++
		if _, err := s.ask(ctx, address); err != nil {
			failed++
		}
		return holds()
	})
	if err != nil {
		return fmt.Errorf("wait for the members: %w", err)
	}
	p.note("%d requests meanwhile, %d failed", asked, failed)
	if failed > 0 {
		return fmt.Errorf("%d of %d requests failed", failed, asked)
	}
	return nil
}

func serviceGoes(ctx context.Context, p *printer, s *stage) error {
	p.step("The Service is deleted")
	p.show("kubectl delete service hello", s.kubectl(ctx, "delete", "service", "hello", "--timeout=60s"))
	_, err := s.client.CoreV1().Services(namespace).Get(ctx, "hello", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("the Service is still there (%v)", err)
	}
	return s.isAsBefore(ctx, p)
}

// isAsBefore checks that the cloud has the same objects as when the demo began.
func (s *stage) isAsBefore(ctx context.Context, p *printer) error {
	left, err := s.inventory(ctx)
	if err != nil {
		return err
	}
	p.note("the cloud has %v", left)
	if left != s.before {
		return fmt.Errorf("the cloud is not as it was before: it had %v", s.before)
	}
	return nil
}

// address returns the address of the Service.
func (s *stage) address(ctx context.Context) (string, error) {
	service, err := s.client.CoreV1().Services(namespace).Get(ctx, "hello", metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	if len(service.Status.LoadBalancer.Ingress) == 0 {
		return "", fmt.Errorf("the Service has no address")
	}
	return net.JoinHostPort(service.Status.LoadBalancer.Ingress[0].IP, fmt.Sprint(s.port)), nil
}

// answersFrom makes at least four requests, until every one of the nodes has answered; an answer
// from any other node is an error. If the load balancer chooses by the source port, it is random
// which node answers.
func (s *stage) answersFrom(ctx context.Context, p *printer, address string, nodes ...string) error {
	const most = 50
	answered := map[string]bool{}
	for asked := 0; asked < 4 || len(answered) < len(nodes); asked++ {
		if asked == most {
			return fmt.Errorf("after %d requests not all of %v have answered", asked, nodes)
		}
		a, err := s.ask(ctx, address)
		if err != nil {
			return err
		}
		if !slices.Contains(nodes, a.Node) {
			return fmt.Errorf("%s answered, and not one of %v", a.Node, nodes)
		}
		p.note("curl http://%s/  ->  Pod %s on %s", address, a.Pod, a.Node)
		answered[a.Node] = true
	}
	return nil
}

// ask makes one request from outside of the cloud, on a new connection.
func (s *stage) ask(ctx context.Context, address string) (node.Answer, error) {
	var answer node.Answer
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/", nil)
	if err != nil {
		return answer, err
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: s.cloud.dial}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(body, &answer)
}

// until waits until happened returns true.
func until(ctx context.Context, happened func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := happened(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}
