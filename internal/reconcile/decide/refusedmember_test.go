// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// picky is a pool of an Octavia that refuses every request with a new member at one of the bad addresses.
type picky struct {
	pool lb.Pool
	bad  []string
	// names means that the message names the member.
	names bool
	// calls counts the requests, refused ones in a row.
	calls, refused int
	record         memory.Record
}

func memberOf(address string) lb.Member {
	return lb.Member{Name: "node " + address, Address: address, Port: 30080, SubnetID: "subnet-1", Weight: 1}
}

// attempt sets the wanted members without those that are left out, and reports whether another attempt is due.
func (p *picky) attempt(f Facts, wanted []lb.Member) (again bool) {
	out := p.record.Refused.LeftOut(f.Now)
	op := diff.SetMembers{PoolID: "pool-1"}
	for _, m := range wanted {
		if _, is := out[m.Key()]; !is {
			op.Members = append(op.Members, m)
		}
	}
	p.record.Cloud.Observed.LoadBalancer = &lb.LoadBalancer{DetachedPools: []lb.Pool{p.pool}}
	if len(diff.NewMembers(op, p.record.Cloud.Observed)) == 0 && len(op.Members) == len(p.pool.Members) {
		return false // nothing to do
	}
	p.calls++
	for _, m := range diff.NewMembers(op, p.record.Cloud.Observed) {
		if !slices.Contains(p.bad, m.Address) {
			continue
		}
		message := "Validation failure: the request is not valid"
		if p.names {
			message = m.Address + " is not a valid option for member address"
		}
		p.refused++
		p.record.Refused = refusedMembers(f, p.record, op, &openstack.Error{Class: openstack.Invalid, Status: 400, Message: message})
		return p.record.Refused.Again
	}
	p.pool.Members, p.refused = op.Members, 0
	p.record.Refused = p.record.Refused.Accepted(op.Members)
	return true // Octavia ends its work, and the next pass sees what is missing
}

func (p *picky) addresses() (all []string) {
	for _, m := range p.pool.Members {
		all = append(all, m.Address)
	}
	slices.Sort(all)
	return all
}

func TestMembersThatOctaviaRefusesNeverKeepTheOthersOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Facts{Now: noon, Timing: timing.Default()}
		p := &picky{names: rapid.Bool().Draw(t, "names")}
		var wanted []lb.Member
		var good []string
		for i := range rapid.IntRange(1, 40).Draw(t, "members") {
			m := memberOf(fmt.Sprintf("10.0.0.%d", i+1))
			wanted = append(wanted, m)
			switch rapid.SampledFrom([]string{"there", "new", "new", "bad"}).Draw(t, "kind") {
			case "there":
				p.pool.ID, p.pool.Members, good = "pool-1", append(p.pool.Members, m), append(good, m.Address)
			case "bad":
				if p.names || len(p.bad) < mostGuesses {
					p.bad = append(p.bad, m.Address)
					continue
				}
				fallthrough
			case "new":
				good = append(good, m.Address)
			}
		}
		p.pool.ID = "pool-1"
		for p.attempt(f, wanted) {
			if p.calls > 400 {
				t.Fatal("it never ends")
			}
		}
		slices.Sort(good)
		if diff := cmp.Diff(good, p.addresses()); diff != "" {
			t.Errorf("of %d members %v are bad; members (-want +got):\n%s", len(wanted), p.bad, diff)
		}
		// What is known costs no call, until it is tried again.
		calls := p.calls
		if p.attempt(f, wanted); len(good) > 0 && p.calls > calls {
			t.Errorf("%d calls more", p.calls-calls)
		}
	})
}

func TestARefusedMemberIsTriedAgainLaterAndLater(t *testing.T) {
	f := Facts{Now: noon, Timing: timing.Default()}
	p := &picky{bad: []string{"10.0.0.2"}, pool: lb.Pool{ID: "pool-1", Members: []lb.Member{memberOf("10.0.0.1")}}}
	wanted := []lb.Member{memberOf("10.0.0.1"), memberOf("10.0.0.2")}
	var waits []time.Duration
	for range 6 {
		for p.attempt(f, wanted) {
		}
		wait := p.record.Refused.Single[wanted[1].Key()].Tries.Wait(f.Now)
		if waits = append(waits, wait); wait < f.Timing.SlowRetry {
			t.Fatalf("the waits are %v", waits)
		}
		f.Now = f.Now.Add(wait)
	}
	if p.calls != 6 || waits[5] < 8*waits[0] {
		t.Errorf("%d calls, after waits of %v", p.calls, waits)
	}
	p.bad = nil
	for p.attempt(f, wanted) {
	}
	if diff := cmp.Diff([]string{"10.0.0.1", "10.0.0.2"}, p.addresses()); diff != "" || len(p.record.Refused.Single) > 0 {
		t.Errorf("after it became acceptable: %s, left out %v", diff, p.record.Refused)
	}
}

// The reason may be in what all members have in common: then no member is to blame.
func TestWhenAllMembersAreRefusedNoneIsBlamed(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 50} {
		f := Facts{Now: noon, Timing: timing.Default()}
		p := &picky{pool: lb.Pool{ID: "pool-1"}}
		var wanted []lb.Member
		for i := range n {
			wanted = append(wanted, memberOf(fmt.Sprintf("10.0.0.%d", i+1)))
			p.bad = append(p.bad, wanted[i].Address)
		}
		for p.attempt(f, wanted) {
		}
		if out := p.record.Refused.LeftOut(f.Now); len(out) > 0 || p.calls > 30 {
			t.Errorf("of %d members %v are left out, after %d calls", n, out, p.calls)
		}
		calls := p.calls
		for p.attempt(f, wanted) {
		}
		if p.calls != calls+1 {
			t.Errorf("of %d members: %d calls more instead of one", n, p.calls-calls)
		}
	}
}

func TestOctaviaNamesMembersByAddressOrSubnet(t *testing.T) {
	other := memberOf("2001:db8::7")
	other.SubnetID = "subnet-2"
	members := []lb.Member{memberOf("10.0.0.1"), memberOf("10.0.0.11"), other}
	for message, want := range map[string][]string{
		"10.0.0.1 is not a valid option for member address":                                {"10.0.0.1"},
		"2001:0DB8:0000:0000:0000:0000:0000:0007 is not a valid option for member address": {"2001:db8::7"},
		"Invalid input for field/attribute address. Value: '10.0.0.11'.":                   {"10.0.0.11"},
		"Subnet subnet-2 not found.":                                                       {"2001:db8::7"},
		"Validation failure: at 12:30":                                                     nil,
		"10.0.0.111 is not a valid option for member address":                              nil,
	} {
		var got []string
		for _, m := range namedIn(message, members) {
			got = append(got, m.Address)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", message, diff)
		}
	}
	if named := namedIn("Subnet subnet-1 not found.", members[:2]); len(named) > 0 {
		t.Errorf("a subnet that all have: %v", named)
	}
}

func TestACreateThatIsRefusedForANamedMemberIsRepeatedWithoutIt(t *testing.T) {
	f := factsOf(web(), "10.0.0.1", "10.0.0.66")
	d := Decide(f)
	op, creates := d.Plan.Ops[0].(diff.CreateLoadBalancer)
	if !creates {
		t.Fatalf("the plan is %v", d.Plan.Ops)
	}
	r := Applied(f, d, op, diff.Created{}, &openstack.Error{Class: openstack.Invalid, Status: 400, Message: "10.0.0.66 is not a valid option for member address"})
	out := r.Refused.LeftOut(noon)
	if _, is := out[lb.MemberKey{Address: "10.0.0.66", Port: 30080}]; !is || len(out) != 1 || !r.Refused.Again || r.Cloud.CreateWithoutChildren || !r.Cloud.Known {
		t.Errorf("left out are %v, again %v, without children %v, known %v", out, r.Refused.Again, r.Cloud.CreateWithoutChildren, r.Cloud.Known)
	}
	// A refusal of anything else is as before.
	r = Applied(f, d, op, diff.Created{}, &openstack.Error{Class: openstack.Invalid, Status: 400, Message: "Invalid flavor"})
	if r.Refused.Again || !r.Cloud.CreateWithoutChildren || r.Cloud.Known {
		t.Errorf("again %v, without children %v, known %v", r.Refused.Again, r.Cloud.CreateWithoutChildren, r.Cloud.Known)
	}
}
