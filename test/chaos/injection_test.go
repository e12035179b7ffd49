// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// target is a call of a scenario: the nth of its kind.
type target struct {
	service, method, route string
	nth                    int
}

// String returns the name of the call in a case: POST-loadbalancers-1.
func (c target) String() string {
	route := c.route
	for _, prefix := range []string{"/v2.0/lbaas/", "/v2.0/", "/v2.1/", "/api/v1/namespaces/{namespace}/", "/api/v1/", "/apis/events.k8s.io/v1/namespaces/{namespace}/"} {
		route = strings.TrimPrefix(route, prefix)
	}
	route = strings.NewReplacer("/", "-", "{", "", "}", "").Replace(route)
	return fmt.Sprintf("%s-%s-%d", c.method, strings.Trim(route, "-"), c.nth)
}

// isRead reports whether the call changes nothing.
func (c target) isRead() bool { return c.method == http.MethodGet }

// faults returns those of the proxy or the cloud that the call goes through.
func (r *run) faults(c target) *wire.Faults {
	if c.service == kubernetes {
		return &r.env.proxy.faults
	}
	return r.env.cloud.Faults()
}

// faultOf returns the fault for this call.
func (c target) faultOf(f wire.Fault) wire.Fault {
	f.Service, f.Method, f.Route, f.Skip = c.service, c.method, c.route, c.nth-1
	return f
}

// injection is a way to make a call fail.
type injection struct {
	name string
	// applies reports whether the call can fail in this way; nil means that all can.
	applies func(target) bool
	// inject prepares the fault, makes the change of the scenario, and returns when the
	// fault is over.
	inject func(r *run, c target, change func() error) error
	// fault is the only fault of the injection, nil if it does more than that.
	fault *wire.Fault
	// needsService is whether it needs a Service that reports the fault.
	needsService bool
}

// errNotHit means that the call that should fail was never made.
var errNotHit = errors.New("the call was not made")

// single makes one call fail.
func single(name string, f wire.Fault) injection {
	f.Times = 1
	return injection{name: name, fault: &f, inject: func(r *run, c target, change func() error) error {
		id := r.faults(c).Add(c.faultOf(f))
		defer r.faults(c).Remove(id)
		if err := change(); err != nil {
			return err
		}
		return r.pollHit(func() bool { return !isActive(r.faults(c), id) && r.faults(c).Held() == 0 })
	}}
}

func isActive(faults *wire.Faults, id string) bool {
	return slices.ContainsFunc(faults.List(), func(f wire.Fault) bool { return f.ID == id })
}

// pollHit waits until a fault has hit. It gives up without an error when the cloud has had
// everything for a while: then the call will not be made.
func (r *run) pollHit(hit func() bool) error {
	settled := 0
	return r.poll(func() error {
		if hit() {
			return nil
		}
		if settled++; settled < 5 {
			return errNotHit
		}
		if r.converged() != nil {
			settled = 0
		}
		if settled > 150 { // more than two sweeps
			return nil
		}
		return errNotHit
	})
}

// cloudAnswers makes OpenStack answer with an error.
func cloudAnswers(code int, header map[string]string) injection {
	name := fmt.Sprint(code)
	if header != nil {
		name += "-retry-after"
	}
	body := fmt.Sprintf(`{"faultcode": "Client", "faultstring": "%s", "debuginfo": null, "NeutronError": {"type": "Chaos", "message": "%[1]s", "detail": ""}}`, faultMessage)
	inj := single(name, wire.Fault{Kind: wire.FaultStatus, Status: code, Body: body, Header: header})
	inj.applies = isCloudCall
	return inj
}

// faultMessage is in the answer to a call that fails.
const faultMessage = "injected by the test"

// kubernetesAnswers makes the Kubernetes API answer with an error.
func kubernetesAnswers(code int, reason string) injection {
	body := fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "%s", "reason": "%s", "code": %d}`, faultMessage, reason, code)
	inj := single(fmt.Sprint(code), wire.Fault{Kind: wire.FaultStatus, Status: code, Body: body})
	inj.applies = isKubernetesCall
	return inj
}

func isCloudCall(c target) bool      { return c.service != kubernetes }
func isKubernetesCall(c target) bool { return c.service == kubernetes }

// injections are all kinds.
var injections = []injection{
	killedAt("killed-before", wire.FaultHang),
	killedAt("killed-after-commit", wire.FaultHangAfter),
	killedAfterAnswer,
	handedOver("handed-over", wire.FaultHang),
	handedOver("handed-over-after-commit", wire.FaultHangAfter),
	cloudAnswers(400, nil), cloudAnswers(401, nil), cloudAnswers(403, nil), cloudAnswers(404, nil), cloudAnswers(409, nil),
	cloudAnswers(413, retryAfter), cloudAnswers(429, nil), cloudAnswers(429, retryAfter),
	cloudAnswers(500, nil), cloudAnswers(502, nil), cloudAnswers(503, nil), cloudAnswers(503, retryAfter),
	single("hang", wire.Fault{Kind: wire.FaultHang}),
	single("hang-after-commit", wire.Fault{Kind: wire.FaultHangAfter}),
	single("reset-before-commit", wire.Fault{Kind: wire.FaultResetBefore}),
	single("reset-after-commit", wire.Fault{Kind: wire.FaultResetAfter}),
	single("garbage", wire.Fault{Kind: wire.FaultGarbage}),
	single("half-body", wire.Fault{Kind: wire.FaultHalfBody}),
	kubernetesAnswers(409, "Conflict"), kubernetesAnswers(500, "InternalError"), kubernetesAnswers(403, "Forbidden"),
	kubernetesAnswers(429, "TooManyRequests"), kubernetesAnswers(503, "ServiceUnavailable"),
	untilReported(400), untilReported(403), untilReported(500), untilReported(503),
}

// retryAfter is a header of answers that request a later request.
var retryAfter = map[string]string{"Retry-After": "1"}

// untilReported rejects a write until the Service reports it.
func untilReported(code int) injection {
	return injection{
		name:         fmt.Sprintf("%d-until-reported", code),
		needsService: true,
		applies:      func(c target) bool { return isCloudCall(c) && !c.isRead() && c.nth == 1 && c.service != "identity" },
		inject: func(r *run, c target, change func() error) error {
			body := fmt.Sprintf(`{"faultcode": "Client", "faultstring": "%s", "debuginfo": null, "NeutronError": {"type": "Chaos", "message": "%[1]s", "detail": ""}}`, faultMessage)
			id := r.faults(c).Add(c.faultOf(wire.Fault{Kind: wire.FaultStatus, Status: code, Body: body}))
			defer r.faults(c).Remove(id)
			if err := change(); err != nil {
				return err
			}
			// A call may have become unnecessary by a later change.
			return r.pollHit(func() bool {
				v, err := r.service()
				return err == nil && (v == nil || strings.Contains(strings.Join(conditionsOf(v), "\n"), faultMessage))
			})
		},
	}
}

// killedAt kills the controller in the middle of the call.
func killedAt(name string, kind wire.FaultKind) injection {
	return injection{name: name, inject: func(r *run, c target, change func() error) error {
		faults := r.faults(c)
		id := faults.Add(c.faultOf(wire.Fault{Kind: kind, Times: 1}))
		if err := change(); err != nil {
			return err
		}
		if err := r.pollHit(func() bool { return faults.Held() > 0 }); err != nil {
			return err
		}
		r.controller.kill()
		faults.Remove(id)
		return r.controller.restart()
	}}
}

// killedAfterAnswer kills the controller after the answer to the call.
var killedAfterAnswer = injection{name: "killed-after-answer", inject: func(r *run, c target, change func() error) error {
	recorder := r.env.cloud.Recorder()
	if c.service == kubernetes {
		recorder = &r.env.proxy.recorder
	}
	before := recorder.Counts()[c.method+" "+c.route]
	if err := change(); err != nil {
		return err
	}
	if err := r.pollHit(func() bool { return recorder.Counts()[c.method+" "+c.route] >= before+c.nth }); err != nil {
		return err
	}
	r.controller.kill()
	return r.controller.restart()
}}

// handedOver stops the controller (SIGSTOP) in a write until another one has taken over and
// done everything. Then the write continues, and the first controller with it, until it
// notices that it is not the leader any more.
func handedOver(name string, kind wire.FaultKind) injection {
	return injection{name: name, applies: func(c target) bool { return !c.isRead() }, inject: func(r *run, c target, change func() error) error {
		faults := r.faults(c)
		id := faults.Add(c.faultOf(wire.Fault{Kind: kind, Times: 1}))
		if err := change(); err != nil {
			return err
		}
		if err := r.pollHit(func() bool { return faults.Held() > 0 }); err != nil {
			return err
		}
		first := r.controller
		first.signal(syscall.SIGSTOP)
		defer first.kill()
		var err error
		if r.controller, err = startProcess(r.controllerArgs, r.ofAnotherKind); err != nil {
			return err
		}
		r.t.Cleanup(r.controller.kill)
		if err := r.pollStable(r.converged); err != nil {
			return fmt.Errorf("under the second controller: %w", err)
		}
		// To read a real cloud takes seconds. The controller cannot know what the write changes
		// between that and the write of Programmed.
		r.mu.Lock()
		r.ignoreConditions = *stateDir != ""
		r.mu.Unlock()
		faults.Remove(id)
		if err := r.poll(func() error {
			if faults.Held() > 0 {
				return errors.New("the write is still held")
			}
			return nil
		}); err != nil {
			return err
		}
		first.signal(syscall.SIGCONT)
		<-time.After(leaderStopTime)
		return nil
	}}
}

// leaderStopTime is how long a controller that has lost its Lease continues before it ends.
const leaderStopTime = 100 * time.Millisecond
