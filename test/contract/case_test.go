// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// JSON, as cases write it.
type (
	object = map[string]any
	list   = []any
)

// statement is one case: a sentence about the cloud, and how it is seen.
type statement struct {
	says string
	do   func(*try)
}

// state runs the cases of a group. Groups run side by side, the cases of one
// group one after the other; whatever the cases of a group share is made by the
// group's test before it calls state.
func state(t *testing.T, statements []statement) {
	t.Helper()
	known, err := loadRecordings("testdata", t.Name(), theCloud.release)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ran := 0
	for _, s := range statements {
		names = append(names, s.says)
		t.Run(s.says, func(t *testing.T) {
			ran++
			c := &try{T: t, cloud: theCloud}
			defer func() {
				if !t.Failed() && !t.Skipped() {
					known.check(t, s.says, c.exchanges)
				}
			}()
			s.do(c)
		})
	}
	if *record {
		if err := known.save(names, ran == len(statements)); err != nil {
			t.Fatal(err)
		}
	}
}

// try is one run of a case.
type try struct {
	*testing.T
	cloud     *cloud
	exchanges []exchange
}

// newName returns a name that no other object has, in any run.
func (c *try) newName() string { return "case-" + strings.ToLower(rand.Text()[:10]) }

// caller makes calls as a user, with a token for the project of that user.
type caller struct {
	c    *try
	user string
	// quiet calls are not compared with the recorded ones.
	quiet bool
	// token is sent in place of the user's own, nil for that; "" sends none.
	token *string
}

// as makes calls as a user of the cloud: k8s, reader, other or admin.
func (c *try) as(user string) caller { return caller{c: c, user: user} }

// quietly makes calls that are not compared: those whose number or answer
// differs from run to run, such as a look at what is PENDING.
func (c *try) quietly(user string) caller { return caller{c: c, user: user, quiet: true} }

// with makes the calls with another token than the user's own; "" is none.
func (u caller) with(token string) caller {
	u.token = &token
	return u
}

// mostInTheWay is how often in a row a call is repeated after a refusal because of other calls.
const mostInTheWay = 10

// inTheWay reports that a real cloud refused a call, without having done anything, because of
// others that are made at the same time: Octavia is counting the project's objects for one, or the
// database let one go on and this one not, of which Keystone says no more than that something was
// unexpected.
func (a answer) inTheWay() bool {
	return a.Status == http.StatusServiceUnavailable && strings.Contains(a.Text, "Project busy") ||
		a.Status == http.StatusInternalServerError && (strings.Contains(a.Text, "Deadlock found when trying to get lock") ||
			strings.Contains(a.Text, "An unexpected error prevented the server from fulfilling your request"))
}

// do makes a call. The path is that of the service's API: see send.
// Headers are given as "Name: value".
func (u caller) do(service, method, path string, body any, headers ...string) answer {
	u.c.Helper()
	token := tokens.of(u.c, u.user)
	id := token.id
	if u.token != nil {
		id = *u.token
	}
	if id != "" {
		headers = append(slices.Clone(headers), "X-Auth-Token: "+id)
	}
	a := send(u.c, token.endpoint(u.c, service)+path, method, body, headers...)
	for range mostInTheWay {
		if !a.inTheWay() {
			break
		}
		a = send(u.c, token.endpoint(u.c, service)+path, method, body, headers...)
	}
	if a.Status == http.StatusUnauthorized && !u.quiet {
		u.c.Logf("%s %s %s: %d %s", method, service, path, a.Status, a.Text)
	}
	if !u.quiet {
		u.c.exchanges = append(u.c.exchanges, newExchange(service, method, path, a))
	}
	return a
}

// lb calls Octavia: lb("GET", "/loadbalancers", nil).
func (u caller) lb(method, path string, body any, headers ...string) answer {
	u.c.Helper()
	return u.do("load-balancer", method, "/v2.0/lbaas"+path, body, headers...)
}

// net calls Neutron: net("GET", "/ports?name=x", nil).
func (u caller) net(method, path string, body any, headers ...string) answer {
	u.c.Helper()
	return u.do("network", method, "/v2.0"+path, body, headers...)
}

// identity calls Keystone: identity("GET", "/auth/projects", nil).
func (u caller) identity(method, path string, body any, headers ...string) answer {
	u.c.Helper()
	return u.do("identity", method, "/v3"+path, body, headers...)
}

// compute calls Nova: compute("GET", "/servers", nil).
func (u caller) compute(method, path string, body any, headers ...string) answer {
	u.c.Helper()
	return u.do("compute", method, "/v2.1"+path, body, headers...)
}

// keys calls Barbican: keys("GET", "/secrets", nil).
func (u caller) keys(method, path string, body any, headers ...string) answer {
	u.c.Helper()
	return u.do("key-manager", method, "/v1"+path, body, headers...)
}

// until waits until the provisioning status of a load balancer is as wanted, and
// returns it; "" is that of one that is gone. None of the calls is compared. They
// are for the list: to show one load balancer a real Octavia loads all that is
// below it, and takes several times as long.
func (u caller) until(id, what string, wanted func(status string) bool) string {
	u.c.Helper()
	u.quiet = true
	const deadline = 5 * time.Minute // a real cloud shares two cores with everything else
	late := time.After(deadline)
	tick := time.NewTicker(u.c.cloud.pace())
	defer tick.Stop()
	for {
		a := u.lb("GET", "/loadbalancers?fields=provisioning_status&id="+id, nil).is(http.StatusOK)
		status := a.text("loadbalancers.0.provisioning_status")
		if wanted(status) {
			return status
		}
		select {
		case <-tick.C:
		case <-late:
			u.c.Fatalf("waited %v until load balancer %s %s: it is %q", deadline, id, what, status)
		}
	}
}

func isGone(status string) bool          { return status == "" }
func isSettled(status string) bool       { return status != "" && !strings.HasPrefix(status, "PENDING_") }
func isSettledOrGone(status string) bool { return isGone(status) || isSettled(status) }

// pace returns how often to look at what is PENDING: a real cloud shares this machine's cores with
// the tests.
func (c *cloud) pace() time.Duration {
	if c.simulated {
		return 10 * time.Millisecond
	}
	return 1500 * time.Millisecond
}

// settled waits until a load balancer is ACTIVE or ERROR, and returns which.
func (c *try) settled(id string) string {
	c.Helper()
	return c.as(k8s).until(id, "is settled", isSettled)
}

// active waits until the load balancer is ACTIVE.
func (c *try) active(id string) {
	c.Helper()
	if status := c.settled(id); status != "ACTIVE" {
		c.Fatalf("load balancer %s is %s", id, status)
	}
}

// gone waits until a load balancer no longer exists in Octavia.
func (c *try) gone(id string) {
	c.Helper()
	c.as(k8s).until(id, "is gone", isGone)
}

// newLB creates a load balancer on the private subnet, with the attributes of extra, and waits
// until it is ACTIVE. It is deleted when the test that t is of ends.
func newLB(t *testing.T, extra object) string {
	t.Helper()
	c := &try{T: t, cloud: theCloud}
	wish := object{"name": c.newName(), "vip_subnet_id": c.cloud.Subnet}
	for key, value := range extra {
		wish[key] = value
	}
	a := c.quietly(k8s).lb("POST", "/loadbalancers", object{"loadbalancer": wish}).is(201)
	id := a.text("loadbalancer.id")
	t.Cleanup(func() { deleteLB(t, id) })
	c.active(id)
	return id
}

// deleteLB deletes a load balancer with all that it has, if it exists.
func deleteLB(t *testing.T, id string) {
	t.Helper()
	c := &try{T: t, cloud: theCloud}
	if c.as(k8s).until(id, "is settled or gone", isSettledOrGone) == "" {
		return
	}
	c.quietly(k8s).lb("DELETE", "/loadbalancers/"+id+"?cascade=true", nil).is(http.StatusNoContent)
	c.gone(id)
}

// must fails the case when the condition does not hold.
func (c *try) must(holds bool, format string, args ...any) {
	c.Helper()
	if !holds {
		c.Fatalf(format, args...)
	}
}
