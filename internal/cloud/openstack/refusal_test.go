// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// simulatedGlobal starts a simulator and returns a [Global] for its user.
func simulatedGlobal(t *testing.T) (*cloudsim.Cloud, config.Global) {
	t.Helper()
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cloud.Close() })
	conf, err := config.Parse("cloud.conf", []byte(cloud.CloudConf()))
	if err != nil {
		t.Fatal(err)
	}
	return cloud, conf.Global
}

func TestWrongProjectIsDistinguishedFromAWrongPassword(t *testing.T) {
	cloud, right := simulatedGlobal(t)
	for name, test := range map[string]struct {
		wrong  func(*config.Global)
		wanted string
		advice string
	}{
		"a project that does not exist": {func(g *config.Global) { g.TenantID, g.TenantName = "no-such-project", "" },
			"Keystone accepts user and password, but not project no-such-project", "set tenant-id in [Global] to a project in which the user has a role, and remove tenant-name: " + cloud.Credentials().ProjectID},
		"a project by a name that does not exist": {func(g *config.Global) { g.TenantID, g.TenantName = "", "typo" },
			"but not project typo", cloud.Credentials().ProjectID},
		"a wrong password": {func(g *config.Global) { g.Password = "wrong" }, "The request you have made requires authentication", "check in [Global] the user with its domain, and the password: Keystone rejects them without the project, too"},
	} {
		t.Run(name, func(t *testing.T) {
			g := right
			test.wrong(&g)
			_, err := Connect(t.Context(), Options{Config: g, ExamineRefusal: true})
			if e := describe(err); e.Class != Unauthorized || !strings.Contains(e.Message, test.wanted) || !strings.Contains(e.Advice, test.advice) {
				t.Errorf("class %s: %s; advice: %s", e.Class, e.Message, e.Advice)
			}
			if _, err = Connect(t.Context(), Options{Config: g}); !strings.Contains(describe(err).Message, "requires authentication") {
				t.Errorf("without a second login: %v", err)
			}
		})
	}
}

func TestAFailureOfTheSecondLoginIsNoRefusal(t *testing.T) {
	cloud, g := simulatedGlobal(t)
	g.TenantID, g.TenantName = "no-such-project", ""
	for name, fault := range map[string]wire.Fault{
		"503":     {Kind: wire.FaultStatus, Status: http.StatusServiceUnavailable},
		"429":     {Kind: wire.FaultStatus, Status: http.StatusTooManyRequests},
		"timeout": {Kind: wire.FaultHang},
		"closed":  {Kind: wire.FaultResetBefore},
	} {
		t.Run(name, func(t *testing.T) {
			fault.Service, fault.Method, fault.Route, fault.Skip = cloudsim.Identity, http.MethodPost, "/v3/auth/tokens", 1
			cloud.Faults().Add(fault)
			defer cloud.Faults().Clear()
			_, err := Connect(t.Context(), Options{Config: g, ExamineRefusal: true, RequestTimeout: time.Second})
			if e := describe(err); e.Class != Unauthorized || e.Advice != checkCredentials(config.ByPassword) {
				t.Errorf("class %s: %s; advice: %s", e.Class, e.Message, e.Advice)
			}
		})
	}
}

func TestTheControllerLogsInOnlyOnceIfItIsRefused(t *testing.T) {
	cloud, g := simulatedGlobal(t)
	g.Password = "wrong"
	cloud.Recorder().Reset()
	if _, err := Connect(t.Context(), Options{Config: g}); err == nil {
		t.Fatal("no error")
	}
	if calls := cloud.Recorder().Calls(); len(calls) != 1 {
		t.Errorf("%d calls, want 1: users who fail too often may be locked out", len(calls))
	}
}

func TestUserWithoutAnyRoleIsReported(t *testing.T) {
	cloud, g := simulatedGlobal(t)
	cloud.Keystone().AddUser("new", "p")
	g.Username, g.UserID, g.Password = "new", "", "p"
	_, err := Connect(t.Context(), Options{Config: g, ExamineRefusal: true})
	if e := describe(err); !strings.Contains(e.Message, "Keystone accepts user and password") || !strings.Contains(e.Advice, "no role in any project") {
		t.Errorf("%s; %s", e.Message, e.Advice)
	}
}

func TestARefusalByAPolicySaysWhatMayBeDone(t *testing.T) {
	for name, test := range map[string]struct {
		method, url, body, want string
	}{
		"the address of a new floating IP": {http.MethodPost, "http://c/v2.0/floatingips",
			`{"NeutronError": {"type": "PolicyNotAuthorized", "message": "(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy"}}`, "only administrators, and since 2025.1 the role manager, may choose the address"},
		"floating IPs": {http.MethodPost, "http://c/v2.0/floatingips",
			`{"NeutronError": {"type": "PolicyNotAuthorized", "message": "rule:create_floatingip is disallowed by policy"}}`, "usually member:"},
		"load balancers":                    {http.MethodGet, "http://c/load-balancer/v2.0/lbaas/loadbalancers", `{"faultstring": "Policy does not allow this request to be performed."}`, "usually member, before 2025.1 load-balancer_member:"},
		"the load balancer of another":      {http.MethodGet, "http://c/v2.0/lbaas/loadbalancers/1", `{"faultstring": "Policy does not allow this request to be performed."}`, "the object belongs to another project, or"},
		"secrets":                           {http.MethodPost, "http://c/v1/secrets", `{"title": "Forbidden", "description": "Secret creation attempt not allowed"}`, "usually creator or member:"},
		"what no program of this kind does": {http.MethodPost, "http://c/v3/roles", `{"error": {"message": "You are not authorized"}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := describe(gophercloud.ErrUnexpectedResponseCode{Actual: http.StatusForbidden, Method: test.method, URL: test.url, Body: []byte(test.body)})
			if !strings.Contains(e.Advice, test.want) || test.want == "" && e.Advice != "" {
				t.Errorf("%q, want %q", e.Advice, test.want)
			}
		})
	}
}
