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

// place is a call that a scenario takes: the nth of its kind.
type place struct {
	service, method, route string
	nth                    int
}

// String is how the place is named in a case: POST-loadbalancers-1.
func (c place) String() string {
	route := c.route
	for _, prefix := range []string{"/v2.0/lbaas/", "/v2.0/", "/api/v1/namespaces/{namespace}/", "/apis/events.k8s.io/v1/namespaces/{namespace}/"} {
		route = strings.TrimPrefix(route, prefix)
	}
	route = strings.NewReplacer("/", "-", "{", "", "}", "").Replace(route)
	return fmt.Sprintf("%s-%s-%d", c.method, strings.Trim(route, "-"), c.nth)
}

// read reports whether the call changes nothing.
func (c place) read() bool { return c.method == http.MethodGet }

// faults are those of the proxy or the cloud that the call goes through.
func (p *play) faults(c place) *wire.Faults {
	if c.service == kubernetes {
		return &p.world.proxy.faults
	}
	return p.world.cloud.Faults()
}

// at is a fault of the place.
func (c place) at(f wire.Fault) wire.Fault {
	f.Service, f.Method, f.Route, f.Skip = c.service, c.method, c.route, c.nth-1
	return f
}

// disturbance is a way in which a call goes wrong.
type disturbance struct {
	name string
	// fits tells for which calls it is; nil is for all.
	fits func(place) bool
	// disturb arms what is to happen, lets the scenario change, and returns when
	// what was to happen is over.
	disturb func(p *play, c place, change func() error) error
	// fault is what happens to the call, where that is all there is to it.
	fault *wire.Fault
}

// errUnmet says that the call which was to be disturbed was never made.
var errUnmet = errors.New("the call was not made")

// once lets one call go wrong.
func once(name string, f wire.Fault) disturbance {
	f.Times = 1
	return disturbance{name: name, fault: &f, disturb: func(p *play, c place, change func() error) error {
		id := p.faults(c).Add(c.at(f))
		defer p.faults(c).Remove(id)
		if err := change(); err != nil {
			return err
		}
		return p.met(func() bool { return !inForce(p.faults(c), id) && p.faults(c).Held() == 0 })
	}}
}

func inForce(faults *wire.Faults, id string) bool {
	return slices.ContainsFunc(faults.List(), func(f wire.Fault) bool { return f.ID == id })
}

// met waits until a fault has hit. If all is done long since, it will not.
func (p *play) met(hit func() bool) error {
	settled := 0
	return p.poll(func() error {
		if hit() {
			return nil
		}
		if settled++; settled < 5 {
			return errUnmet
		}
		if p.converged() != nil {
			settled = 0
		}
		if settled > 150 { // more than two sweeps
			return nil
		}
		return errUnmet
	})
}

// refused is an answer of OpenStack's.
func refused(code int, header map[string]string) disturbance {
	name := fmt.Sprint(code)
	if header != nil {
		name += "-retry-after"
	}
	body := fmt.Sprintf(`{"faultcode": "Client", "faultstring": "%s", "debuginfo": null, "NeutronError": {"type": "Chaos", "message": "%[1]s", "detail": ""}}`, disturbed)
	d := once(name, wire.Fault{Kind: wire.FaultStatus, Status: code, Body: body, Header: header})
	d.fits = ofCloud
	return d
}

// disturbed is what a disturbed call is answered with.
const disturbed = "disturbed by the test"

// refusedByKubernetes is an answer of the Kubernetes API's.
func refusedByKubernetes(code int, reason string) disturbance {
	body := fmt.Sprintf(`{"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "%s", "reason": "%s", "code": %d}`, disturbed, reason, code)
	d := once(fmt.Sprint(code), wire.Fault{Kind: wire.FaultStatus, Status: code, Body: body})
	d.fits = ofKubernetes
	return d
}

func ofCloud(c place) bool      { return c.service != kubernetes }
func ofKubernetes(c place) bool { return c.service == kubernetes }

// disturbances are all that there are.
var disturbances = []disturbance{
	killedAt("killed-before", wire.FaultHang),
	killedAt("killed-after-commit", wire.FaultHangAfter),
	killedAfterAnswer,
	handedOver("handed-over", wire.FaultHang),
	handedOver("handed-over-after-commit", wire.FaultHangAfter),
	refused(400, nil), refused(401, nil), refused(403, nil), refused(404, nil), refused(409, nil),
	refused(413, patience), refused(429, nil), refused(429, patience),
	refused(500, nil), refused(502, nil), refused(503, nil), refused(503, patience),
	once("hang", wire.Fault{Kind: wire.FaultHang}),
	once("hang-after-commit", wire.Fault{Kind: wire.FaultHangAfter}),
	once("reset-before-commit", wire.Fault{Kind: wire.FaultResetBefore}),
	once("reset-after-commit", wire.Fault{Kind: wire.FaultResetAfter}),
	once("garbage", wire.Fault{Kind: wire.FaultGarbage}),
	once("half-body", wire.Fault{Kind: wire.FaultHalfBody}),
	refusedByKubernetes(409, "Conflict"), refusedByKubernetes(500, "InternalError"), refusedByKubernetes(403, "Forbidden"),
	refusedByKubernetes(429, "TooManyRequests"), refusedByKubernetes(503, "ServiceUnavailable"),
	lasting(400), lasting(403), lasting(500), lasting(503),
}

var patience = map[string]string{"Retry-After": "1"}

// lasting lets a write be refused until the Service says so.
func lasting(code int) disturbance {
	return disturbance{
		name: fmt.Sprintf("%d-until-told", code),
		fits: func(c place) bool { return ofCloud(c) && !c.read() && c.nth == 1 && c.service != "identity" },
		disturb: func(p *play, c place, change func() error) error {
			body := fmt.Sprintf(`{"faultcode": "Client", "faultstring": "%s", "debuginfo": null, "NeutronError": {"type": "Chaos", "message": "%[1]s", "detail": ""}}`, disturbed)
			id := p.faults(c).Add(c.at(wire.Fault{Kind: wire.FaultStatus, Status: code, Body: body}))
			defer p.faults(c).Remove(id)
			if err := change(); err != nil {
				return err
			}
			// A call that a later change has made needless is never made.
			return p.met(func() bool {
				v, err := p.service()
				return err == nil && (v == nil || strings.Contains(strings.Join(conditionsOf(v), "\n"), disturbed))
			})
		},
	}
}

// killedAt kills the controller while the call is under way.
func killedAt(name string, kind wire.FaultKind) disturbance {
	return disturbance{name: name, disturb: func(p *play, c place, change func() error) error {
		faults := p.faults(c)
		id := faults.Add(c.at(wire.Fault{Kind: kind, Times: 1}))
		if err := change(); err != nil {
			return err
		}
		if err := p.met(func() bool { return faults.Held() > 0 }); err != nil {
			return err
		}
		p.controller.kill()
		faults.Remove(id)
		return p.controller.again()
	}}
}

// killedAfterAnswer kills the controller when the call was answered.
var killedAfterAnswer = disturbance{name: "killed-after-answer", disturb: func(p *play, c place, change func() error) error {
	recorder := p.world.cloud.Recorder()
	if c.service == kubernetes {
		recorder = &p.world.proxy.recorder
	}
	before := recorder.Counts()[c.method+" "+c.route]
	if err := change(); err != nil {
		return err
	}
	if err := p.met(func() bool { return recorder.Counts()[c.method+" "+c.route] >= before+c.nth }); err != nil {
		return err
	}
	p.controller.kill()
	return p.controller.again()
}}

// handedOver freezes the controller in a write, as a machine does that is short of
// everything, until another one has taken over and done all there is to do. Then
// the write goes on, and the first controller with it, until it notices that it
// leads no more.
func handedOver(name string, kind wire.FaultKind) disturbance {
	return disturbance{name: name, fits: func(c place) bool { return !c.read() }, disturb: func(p *play, c place, change func() error) error {
		faults := p.faults(c)
		id := faults.Add(c.at(wire.Fault{Kind: kind, Times: 1}))
		if err := change(); err != nil {
			return err
		}
		if err := p.met(func() bool { return faults.Held() > 0 }); err != nil {
			return err
		}
		first := p.controller
		first.signal(syscall.SIGSTOP)
		defer first.kill()
		var err error
		if p.controller, err = launch(p.world.controllerArgs()); err != nil {
			return err
		}
		p.t.Cleanup(p.controller.kill)
		if err := p.eventually(p.converged); err != nil {
			return fmt.Errorf("under the second controller: %w", err)
		}
		// To read a real cloud takes seconds. What the write changes meanwhile, after it was
		// read and before Programmed is written, nobody can know.
		p.mu.Lock()
		p.candid = *stateDir != ""
		p.mu.Unlock()
		faults.Remove(id)
		if err := p.poll(func() error {
			if faults.Held() > 0 {
				return errors.New("the write is still held")
			}
			return nil
		}); err != nil {
			return err
		}
		first.signal(syscall.SIGCONT)
		<-time.After(reaction)
		return nil
	}}
}

// reaction is how long a controller that has lost its Lease goes on before it ends.
const reaction = 100 * time.Millisecond
