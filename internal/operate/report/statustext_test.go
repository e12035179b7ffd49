// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
)

// surveyed returns a survey with a healthy Service, one that waits for its load balancer, and one of each kind of
// problem.
func surveyed(t *testing.T) StatusList {
	web := known(t).status()
	api := ServiceStatus{Namespace: "shop", Name: "api", Programming: Programming{"False", "Quota", "the quota of load balancers is used up"},
		Drift: Drift{Ops: []Op{{"CreateLoadBalancer", "create load balancer kube_service_prod_shop_api with ports TCP/80"}}, Held: []string{"not repaired"}}}
	return StatusList{
		Services: []ServiceStatus{api, web}, Objects: web.Objects,
		Orphans:   []orphan.Object{{Kind: "loadbalancer", ID: "o-1", Name: "left", ServiceUID: "uid-9"}},
		Conflicts: []Conflict{{"shop", "api", "loadbalancer", "lb-9", "it has the uid of another cluster", "cluster c-2"}},
		LeftPorts: []orphan.Object{{Kind: "port", ID: "p-1", Name: "octavia-lb-1"}},
	}
}

// printed returns what a printer prints for the surveys, one after the other.
func printed(t *testing.T, format StatusFormat, surveys ...StatusList) []string {
	t.Helper()
	p := StatusPrinter{Format: format, Now: func() time.Time { return changed.Add(5 * time.Minute) }}
	var all []string
	for _, s := range surveys {
		var out bytes.Buffer
		if err := p.Print(&out, s); err != nil {
			t.Fatal(err)
		}
		all = append(all, out.String())
	}
	return all
}

const sectionsText = `
NAMESPACE   NAME   MESSAGE
shop        api    the quota of load balancers is used up

NAMESPACE   NAME   DRIFT
shop        api    create load balancer kube_service_prod_shop_api with ports TCP/80
shop        api    not repaired

ORPHAN         ID    NAME   OF SERVICE UID   IN USE
loadbalancer   o-1   left   uid-9            -

CONFLICT       ID     NAMESPACE   NAME   WITH          MESSAGE
loadbalancer   lb-9   shop        api    cluster c-2   it has the uid of another cluster

LEFT BEHIND   ID    NAME
port          p-1   octavia-lb-1

2 Services: 1 load balancer, 1 listener, 2 pools, 3 members, 1 health monitor, 1 floating IP
`

func TestStatusIsPrintedInEachFormat(t *testing.T) {
	for format, want := range map[StatusFormat]string{
		StatusText: `NAMESPACE   NAME   LOAD BALANCER                          PROVISIONING   OPERATING   MEMBERS   ADDRESS       PROGRAMMED   REASON       DRIFT   CONFLICT      LAST CHANGE   OBJECTS
shop        api    -                                      -              -           -         -             False        Quota        2       cluster c-2   -             0
shop        web    11111111-0000-4000-8000-000000000000   ACTIVE         DEGRADED    1/2       203.0.113.7   True         Programmed   -       -             5m            9
` + sectionsText,
		StatusWide: `NAMESPACE   NAME   LOAD BALANCER                          LOAD BALANCER NAME           PROVISIONING   OPERATING   MEMBERS   ADDRESS       VIP                    FLOATING IP   PROGRAMMED   REASON       DRIFT   CONFLICT      LAST CHANGE   OBJECTS   LISTENERS   POOLS   HEALTH MONITORS
shop        api    -                                      -                            -              -           -         -             -                      -             False        Quota        2       cluster c-2   -             0         0           0       0
shop        web    11111111-0000-4000-8000-000000000000   kube_service_prod_shop_web   ACTIVE         DEGRADED    1/2       203.0.113.7   10.0.0.5,2001:db8::5   203.0.113.7   True         Programmed   -       -             5m            9         1           2       1
` + sectionsText,
		StatusTree: `shop/api Programmed=False Quota
  └─ no load balancer
shop/web Programmed=True Programmed, 203.0.113.7
  └─ load balancer kube_service_prod_shop_web (11111111-0000-4000-8000-000000000000) ACTIVE/DEGRADED, VIP 10.0.0.5, 2001:db8::5, floating IP 203.0.113.7
     ├─ listener TCP/80 (22222222-0000-4000-8000-000000000000) ACTIVE/ONLINE
     │  └─ pool TCP (33333333-0000-4000-8000-000000000000) ACTIVE/DEGRADED
     │     ├─ member 10.0.0.2 port 30080 node-2 (55555555-0000-4000-8000-000000000000) ACTIVE/ONLINE
     │     ├─ member 10.0.0.3 port 30080 node-3 (66666666-0000-4000-8000-000000000000) ACTIVE/ERROR
     │     └─ health monitor TCP (44444444-0000-4000-8000-000000000000) ACTIVE/ONLINE
     └─ pool TCP (77777777-0000-4000-8000-000000000000) ACTIVE, used by no listener
` + sectionsText,
	} {
		t.Run(string(format), func(t *testing.T) {
			if d := cmp.Diff(want, printed(t, format, surveyed(t))[0]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestServiceThatIsProgrammedAndDoesNotServeShowsIt(t *testing.T) {
	silent := ServiceStatus{Namespace: "shop", Name: "web", Programming: Programming{Programmed: "True"}, Serving: &Serving{"False", "NoMembers", "no node is available"}}
	for name, c := range map[string]struct {
		serving *Serving
		format  StatusFormat
		want    string
	}{
		"in the list":                   {silent.Serving, StatusText, "shop        web    does not serve (NoMembers): no node is available\n"},
		"in the tree":                   {silent.Serving, StatusTree, "shop/web Programmed=True, does not serve: NoMembers\n"},
		"but not if it serves":          {&Serving{"True", "Serving", "members pass"}, StatusText, ""},
		"nor if it is not known":        {nil, StatusText, ""},
		"nor if Programmed says it all": {&Serving{"False", "NotProgrammed", "no port is open yet"}, StatusText, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := silent
			v.Serving = c.serving
			text := printed(t, c.format, StatusList{Services: []ServiceStatus{v}})[0]
			if c.want == "" && strings.Contains(text, "does not serve") || !strings.Contains(text, c.want) {
				t.Errorf("printed:\n%s\nwant %q", text, c.want)
			}
		})
	}
}

func TestAllPublishedAddressesAreShown(t *testing.T) {
	v := ServiceStatus{Namespace: "shop", Name: "web", Addresses: Addresses{Address: "203.0.113.7", Published: []string{"203.0.113.7", "2001:db8::5"}}, Programming: Programming{Programmed: "True"}}
	for format, want := range map[StatusFormat]string{StatusText: "   203.0.113.7,2001:db8::5   ", StatusWide: "   203.0.113.7,2001:db8::5   ", StatusTree: "Programmed=True, 203.0.113.7, 2001:db8::5\n"} {
		t.Run(string(format), func(t *testing.T) {
			if text := printed(t, format, StatusList{Services: []ServiceStatus{v}})[0]; !strings.Contains(text, want) {
				t.Errorf("printed:\n%s\nwant %q", text, want)
			}
		})
	}
}

func TestServicesWithoutAClassAreNamedOnceBelowTheTable(t *testing.T) {
	s := StatusList{Unclassed: "1 Service is not handled"}
	for i, text := range printed(t, StatusText, s, StatusList{Unclassed: s.Unclassed, Services: []ServiceStatus{{Name: "web"}}}) {
		if said := strings.HasSuffix(text, " floating IPs\n1 Service is not handled\n"); said != (i == 0) {
			t.Errorf("%d: %s", i, text)
		}
	}
}

func TestStatusWithoutServicesHasTitlesAndTotals(t *testing.T) {
	want := "NAMESPACE   NAME   LOAD BALANCER   PROVISIONING   OPERATING   MEMBERS   ADDRESS   PROGRAMMED   REASON   DRIFT   CONFLICT   LAST CHANGE   OBJECTS\n\n" +
		"0 Services: 0 load balancers, 0 listeners, 0 pools, 0 members, 0 health monitors, 0 floating IPs\n"
	if d := cmp.Diff(want, printed(t, StatusText, StatusList{})[0]); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestMembersAreCountedAsFarAsTheyAreKnown(t *testing.T) {
	number := func(n int) *int { return &n }
	for want, m := range map[string]*Members{
		"":                   nil,
		"3":                  {Total: 3},
		"?/3":                {Total: 3, Unknown: "no answer"},
		"0/3":                {Total: 3, Up: number(0)},
		"0/0":                {Up: number(0)},
		"3 (no monitor)":     {Total: 3, Up: number(0), Unmonitored: 3},
		"1/3 (1 no monitor)": {Total: 3, Up: number(1), Unmonitored: 1},
	} {
		t.Run(fmt.Sprintf("%q", want), func(t *testing.T) {
			if got := m.String(); got != want {
				t.Errorf("%+v: %q, want %q", m, got, want)
			}
		})
	}
}

func TestAWatchPrintsOnlyWhatHasChanged(t *testing.T) {
	const web = "shop        web    11111111-0000-4000-8000-000000000000   ACTIVE         "
	for name, c := range map[string]struct {
		edit func(*StatusList)
		want string
	}{
		"nothing":                  {func(*StatusList) {}, ""},
		"another operating status": {func(s *StatusList) { s.Services[1].OperatingStatus = "ONLINE" }, web + "ONLINE      1/2       203.0.113.7   True         Programmed   -       -             5m            9\n"},
		"a member that is up": {func(s *StatusList) { s.Services[1].Members = &Members{Total: 2, Up: new(int)} },
			web + "DEGRADED    0/2       203.0.113.7   True         Programmed   -       -             5m            9\n"},
		"a longer cell":             {func(s *StatusList) { s.Services[1].OperatingStatus = "A LONG STATUS" }, web + "A LONG STATUS   1/2       203.0.113.7   True         Programmed   -       -             5m            9\n"},
		"a Service that is deleted": {func(s *StatusList) { s.Services = s.Services[:1] }, "\nGONE\nService shop/web\n"},
		"drift": {func(s *StatusList) { s.Services[1].Drift.Ops = []Op{{"DeleteListener", "close port TCP/81"}} },
			web + "DEGRADED    1/2       203.0.113.7   True         Programmed   1       -             5m            9\n\nNAMESPACE   NAME   DRIFT\nshop        web    close port TCP/81\n"},
		"a conflict": {func(s *StatusList) {
			s.Conflicts = append(s.Conflicts, Conflict{"shop", "web", "floatingip", "f-1", "it leads elsewhere", ""})
		},
			web + "DEGRADED    1/2       203.0.113.7   True         Programmed   -       yes           5m            9\n\nCONFLICT     ID    NAMESPACE   NAME   WITH   MESSAGE\nfloatingip   f-1   shop        web    -      it leads elsewhere\n"},
		"the end of a conflict, an orphan and a port": {func(s *StatusList) { s.Orphans, s.Conflicts, s.LeftPorts = nil, nil, nil },
			"shop        api    -                                      -              -           -         -             False        Quota        2       -             -             0\n\n" +
				"NAMESPACE   NAME   MESSAGE\nshop        api    the quota of load balancers is used up\n\n" +
				"NAMESPACE   NAME   DRIFT\nshop        api    create load balancer kube_service_prod_shop_api with ports TCP/80\nshop        api    not repaired\n\n" +
				"GONE\norphan loadbalancer o-1\nleft behind port p-1\nconflict of Service shop/api over loadbalancer lb-9\n"},
		"another orphan": {func(s *StatusList) { s.Orphans = append(s.Orphans, orphan.Object{Kind: "certificate", ID: "o-2"}) },
			"\nORPHAN        ID    NAME   OF SERVICE UID   IN USE\ncertificate   o-2   -      -                -\n"},
	} {
		t.Run(name, func(t *testing.T) {
			after := surveyed(t)
			c.edit(&after)
			if d := cmp.Diff(c.want, printed(t, StatusText, surveyed(t), after, after)[1]); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if again := printed(t, StatusText, surveyed(t), after, after)[2]; again != "" {
				t.Errorf("it is printed again:\n%s", again)
			}
		})
	}
}

func TestAWatchOfTreesPrintsTheTreesThatHaveChanged(t *testing.T) {
	after := surveyed(t)
	after.Services[0].Programming.Reason = "Creating"
	got := printed(t, StatusTree, surveyed(t), after)[1]
	want := "shop/api Programmed=False Creating\n  └─ no load balancer\n\nNAMESPACE   NAME   MESSAGE\nshop        api    the quota of load balancers is used up\n\n" +
		"NAMESPACE   NAME   DRIFT\nshop        api    create load balancer kube_service_prod_shop_api with ports TCP/80\nshop        api    not repaired\n"
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestTheRequestIDOfAFailureIsNoChange(t *testing.T) {
	failed := func(request string) StatusList {
		f := known(t)
		f.planErr, f.treeErr = errors.New("no answer (request "+request+")"), errors.New("no answer (request "+request+")")
		return StatusList{Services: []ServiceStatus{f.status()}}
	}
	if c := ChangeOf(failed("req-1"), failed("req-2")); !c.Empty() {
		t.Errorf("%+v", c)
	}
	if c := ChangeOf(surveyed(t), failed("req-1")); c.Empty() {
		t.Error("a failure is no change")
	}
}

func TestTreeNamesTheOwnerOfALoadBalancer(t *testing.T) {
	v := ServiceStatus{Namespace: "shop", Name: "web", LoadBalancerID: "lb-1", LoadBalancerName: "n", ProvisioningStatus: lb.Active, Shared: true, Programming: Programming{Programmed: "Unknown"}}
	want := "shop/web Programmed=Unknown\n  └─ load balancer n (lb-1) ACTIVE, of another owner\n"
	if d := cmp.Diff(want, v.tree().String()); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestATableFitsIntoTheTerminal(t *testing.T) {
	const id = "6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	all := surveyed(t)
	all.Services[1].LoadBalancerID = id
	all.Services[0].Message = "the quota of load balancers of the project is used up: 20 of 20; delete load balancers that nobody needs, or ask the operator of the cloud for more of them"
	for _, c := range []struct {
		width   int
		has     []string
		hasNot  []string
		wrapped bool
	}{
		{0, []string{"LOAD BALANCER", id, "OBJECTS", all.Services[0].Message}, nil, false},
		{300, []string{"LOAD BALANCER", id, "OBJECTS"}, nil, false},
		{120, []string{"NAMESPACE", "NAME", "ADDRESS", "OPERATING", "PROGRAMMED", "REASON"}, []string{"LOAD BALANCER", id}, true},
		{80, []string{"NAMESPACE", "NAME", "ADDRESS", "PROGRAMMED"}, []string{"LOAD BALANCER", id, "OBJECTS", "LAST CHANGE"}, true},
	} {
		t.Run(fmt.Sprintf("width %d", c.width), func(t *testing.T) {
			var out bytes.Buffer
			p := StatusPrinter{Format: StatusText, Now: time.Now, Width: c.width}
			if err := p.Print(&out, all); err != nil {
				t.Fatal(err)
			}
			table, rest, _ := strings.Cut(out.String(), "\n\n")
			messages, _, _ := strings.Cut(rest, "\n\n")
			for line := range strings.Lines(table + "\n" + messages) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); c.wrapped && n > c.width {
					t.Errorf("width %d: a line of %d: %s", c.width, n, line)
				}
			}
			for _, text := range c.has {
				if !strings.Contains(table+messages, text) {
					t.Errorf("width %d: no %s in\n%s\n%s", c.width, text, table, messages)
				}
			}
			for _, text := range c.hasNot {
				if strings.Contains(table, text) {
					t.Errorf("width %d: %s in\n%s", c.width, text, table)
				}
			}
			if got := strings.Join(strings.Fields(messages), " "); !strings.Contains(got, all.Services[0].Message) {
				t.Errorf("width %d: the message is not whole:\n%s", c.width, messages)
			}
		})
	}
}

func TestAWideTableIsNeverCut(t *testing.T) {
	var cut, whole bytes.Buffer
	narrow, none := StatusPrinter{Format: StatusWide, Now: time.Now, Width: 80}, StatusPrinter{Format: StatusWide, Now: time.Now}
	if err := errors.Join(narrow.Print(&cut, surveyed(t)), none.Print(&whole, surveyed(t))); err != nil || cut.String() != whole.String() {
		t.Errorf("%v: it is not the same:\n%s\n%s", err, cut.String(), whole.String())
	}
}

func TestTextIsWrappedBetweenWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                       {""},
		"one":                    {"one"},
		"one two three":          {"one two", "three"},
		"averyverylongword a b":  {"averyverylongword", "a b"},
		"ääää ööö":               {"ääää ööö"},
		"  spaces   everywhere ": {"spaces", "everywhere"},
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if d := cmp.Diff(want, wrap(text, 8)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}
