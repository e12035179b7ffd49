// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
)

// twoMembers has pool p with two members, of the provider.
func twoMembers(provider string) lb.Observed {
	o := withListener(lb.Active, lb.Active)
	o.LoadBalancer.Provider = provider
	pool := &lb.Pool{ID: "p", ProvisioningStatus: lb.Active, Members: []lb.Member{{ID: "m-1", Address: "10.0.0.11", Port: 30080}, {ID: "m-2", Address: "10.0.0.12", Port: 30080}}}
	o.LoadBalancer.Listeners[0].Pool = pool
	return o
}

const second = "member 10.0.0.12 port 30080 of pool p"

func TestWhatAWriteRemovesIsRememberedOfAProviderThatFinishesLate(t *testing.T) {
	version := func(minor int) lb.Version { return lb.Version{Major: 2, Minor: minor} }
	for name, test := range map[string]struct {
		provider string
		version  lb.Version
		earlier  memory.Removed
		want     memory.Removed
	}{
		"ovn":                     {provider: lb.ProviderOVN, version: version(30), want: memory.Removed{Parts: []string{second}, Since: noon}},
		"ovn of 2022.2":           {provider: lb.ProviderOVN, version: version(26)},
		"amphora":                 {provider: lb.ProviderAmphora, version: version(30)},
		"after another removal":   {lb.ProviderOVN, version(30), memory.Removed{Parts: []string{"listener l"}, Since: noon.Add(-time.Second)}, memory.Removed{Parts: []string{"listener l", second}, Since: noon}},
		"of which one returns":    {lb.ProviderOVN, version(30), memory.Removed{Parts: []string{"member 10.0.0.11 port 30080 of pool p"}, Since: noon.Add(-time.Second)}, memory.Removed{Parts: []string{second}, Since: noon}},
		"after one that was over": {lb.ProviderOVN, version(30), memory.Removed{Parts: []string{"listener l"}, Since: noon.Add(-time.Minute)}, memory.Removed{Parts: []string{second}, Since: noon}},
	} {
		t.Run(name, func(t *testing.T) {
			f, d := deciding(memory.Record{Cloud: memory.Cloud{Known: true, Observed: twoMembers(test.provider), Removed: test.earlier}})
			f.Capabilities.APIVersion = test.version
			op := diff.SetMembers{PoolID: "p", Members: []lb.Member{{Address: "10.0.0.11", Port: 30080}}}
			if diff := gocmp.Diff(test.want, Applied(f, d, op, diff.Created{}, nil).Cloud.Removed, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPoolIsLeftAloneWhileItsProviderMayRemoveMembersFromIt(t *testing.T) {
	set := diff.SetMembers{PoolID: "p"}
	for name, test := range map[string]struct {
		op     diff.Op
		status lb.ProvisioningStatus // ACTIVE unless it is set
		since  time.Duration
		read   bool
		need   Need
		action Action
		delay  time.Duration
	}{
		"before a look":           {op: set, since: time.Second, need: NeedStatusTree},
		"after a look":            {op: set, since: 2 * time.Second, read: true, action: AwaitChildren, delay: 2 * time.Second},
		"after a minute":          {op: set, since: time.Minute, action: Converge},
		"while Octavia works":     {op: set, status: lb.PendingUpdate, since: time.Second, action: Converge},
		"another pool":            {op: diff.SetMembers{PoolID: "q"}, since: time.Second, action: Converge},
		"another kind of a write": {op: diff.UpdateListener{}, since: time.Second, action: Converge},
		"nothing to write":        {op: diff.CreateFloatingIP{}, since: time.Second, action: Converge},
	} {
		t.Run(name, func(t *testing.T) {
			removed := memory.Removed{Parts: []string{second}, Since: noon.Add(-test.since)}
			o := twoMembers(lb.ProviderOVN)
			o.LoadBalancer.ProvisioningStatus = cmp.Or(test.status, lb.Active)
			f, d := deciding(memory.Record{Cloud: memory.Cloud{Known: true, Observed: o, Removed: removed}})
			f.Capabilities.APIVersion = lb.Version{Major: 2, Minor: 30}
			d.Plan.Ops = []diff.Op{test.op}
			if test.read {
				f.Provided = []Need{NeedStatusTree}
			}
			d, waits := awaitRemoved(f, d)
			if d.Need != test.need || d.Action != test.action || d.Delay != test.delay || waits != (test.action != Converge) {
				t.Errorf("need %q, %q for %v, waits: %t", d.Need, d.Action, d.Delay, waits)
			}
			if test.action == AwaitChildren && (len(d.Plan.Ops) > 0 || d.Unready == "") {
				t.Errorf("planned: %v, %q", d.Plan.Ops, d.Unready)
			}
		})
	}
}
