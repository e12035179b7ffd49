// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// A simulated cloud stands in for the real one here: to a proxy they are alike.

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// upstream starts a cloud with a proxy in front of it, and logs in through the
// proxy.
func upstream(t *testing.T) (*cloudsim.Cloud, *Proxy, *Client) {
	t.Helper()
	cloud, err := cloudsim.Start(cloudsim.Options{})
	if err != nil {
		t.Fatal(err)
	}
	login := Login{AuthURL: cloud.AuthURL() + "/v3", User: "k8s", Password: cloud.Credentials().Password, ProjectID: cloud.IDs().Project}
	direct, err := Connect(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	proxy, err := StartProxy(login.AuthURL, direct.Endpoints())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	})
	login.AuthURL = proxy.AuthURL()
	through, err := Connect(t.Context(), login)
	if err != nil {
		t.Fatal(err)
	}
	return cloud, proxy, through
}

// get makes a GET request that must be answered.
func get(t *testing.T, c *Client, service, path string) Response {
	t.Helper()
	answer, err := c.Do(t.Context(), service, http.MethodGet, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestCatalogueOfTheProxyNamesOnlyTheProxy(t *testing.T) {
	cloud, proxy, client := upstream(t)
	for service, address := range client.Endpoints() {
		if _, fronted := proxy.origins[service]; fronted && address == cloud.Endpoint(service) {
			t.Errorf("the catalogue has the real address of %s, %s", service, address)
		}
	}
	for _, service := range []string{identity, network, compute, loadBalancer} {
		versions := get(t, client, service, "/")
		if text := string(versions.Body); !strings.Contains(text, proxy.origins[service]) || strings.Contains(text, origin(cloud.Endpoint(service))) {
			t.Errorf("version document of %s: %s", service, text)
		}
	}
}

func TestProxyRecordsCallsByTheirRoutes(t *testing.T) {
	cloud, proxy, client := upstream(t)
	proxy.Recorder().Reset()
	answer := get(t, client, network, "/v2.0/subnets/"+cloud.IDs().PrivateSubnet+"?fields=id")
	get(t, client, loadBalancer, "/v2.0/lbaas/nothing")
	var got []string
	for _, c := range proxy.Recorder().Calls() {
		got = append(got, fmt.Sprintf("%s %s %s ?%s %d", c.Service, c.Method, c.Route, c.Query, c.Status))
	}
	want := []string{"network GET /v2.0/subnets/{id} ?fields=id 200", "load-balancer GET  ? 404"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("recorded calls (-want +have): %s", d)
	}
	real := cloud.Recorder().Calls()
	id := real[len(real)-2].RequestID
	if first := proxy.Recorder().Calls()[0].RequestID; first != id || answer.Header.Get("X-Openstack-Request-Id") != id {
		t.Errorf("the service's request id is %s, recorded is %s, answered was %s", id, first, answer.Header.Get("X-Openstack-Request-Id"))
	}
}

func TestLinksToNextPagesLeadThroughTheProxy(t *testing.T) {
	_, proxy, client := upstream(t)
	var page struct {
		Links []struct{ Href string } `json:"subnets_links"`
	}
	if err := json.Unmarshal(get(t, client, network, "/v2.0/subnets?limit=1").Body, &page); err != nil {
		t.Fatal(err)
	}
	if len(page.Links) == 0 || !strings.HasPrefix(page.Links[0].Href, proxy.origins[network]+"/") {
		t.Errorf("links: %+v", page.Links)
	}
}

func TestFaultsOfTheProxyHitRealServices(t *testing.T) {
	cloud, proxy, client := upstream(t)
	port := []byte(`{"port": {"network_id": "` + cloud.IDs().PrivateNetwork + `"}}`)
	count := func() int { return cloud.State()[cloudsim.Network]["ports"] }
	for _, c := range []struct {
		kind wire.FaultKind
		made int
	}{{wire.FaultResetBefore, 0}, {wire.FaultResetAfter, 1}, {wire.FaultHalfBody, 1}} {
		t.Run(string(c.kind), func(t *testing.T) {
			before := count()
			proxy.Faults().Add(wire.Fault{Service: network, Method: http.MethodPost, Kind: c.kind, Times: 1})
			if answer, err := client.Do(t.Context(), network, http.MethodPost, "/v2.0/ports", port); err == nil {
				t.Errorf("answered %d: %s", answer.Status, answer.Body)
			}
			if made := count() - before; made != c.made {
				t.Errorf("%d ports were made, not %d", made, c.made)
			}
		})
	}
	proxy.Faults().Add(wire.Fault{Service: network, Kind: wire.FaultStatus, Status: 503, Times: 1})
	if answer := get(t, client, network, "/v2.0/ports"); answer.Status != 503 {
		t.Errorf("answered %d: %s", answer.Status, answer.Body)
	}
}

func TestListOfServersThroughTheProxyLacksTheServersOfAFault(t *testing.T) {
	cloud, proxy, client := upstream(t)
	var ids []string
	for _, name := range []string{"node-1", "node-2", "node-3"} {
		id, err := cloud.AddServer(name)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	const route = "/v2.1/servers/detail"
	proxy.Faults().Add(wire.Fault{Service: compute, Route: route, Kind: wire.FaultPartialList, Missing: ids[:1], Times: 1})
	answer := get(t, client, compute, route)
	if text := string(answer.Body); answer.Status != 200 || strings.Contains(text, ids[0]) || !strings.Contains(text, ids[1]) || !strings.Contains(text, ids[2]) {
		t.Errorf("without one of %v: answered %d: %s", ids, answer.Status, text)
	}
	proxy.Faults().Add(wire.Fault{Service: compute, Route: route, Kind: wire.FaultStatus, Status: 500, Skip: 1, Times: 1})
	for page, want := range []int{200, 500, 200} {
		if answer := get(t, client, compute, route+"?limit=2"); answer.Status != want {
			t.Errorf("page %d: answered %d: %s", page, answer.Status, answer.Body)
		}
	}
}

func TestTokensThatTheProxyExpiredAreRefusedAndNewOnesAccepted(t *testing.T) {
	_, proxy, client := upstream(t)
	get(t, client, network, "/v2.0/ports")
	proxy.ExpireTokens()
	proxy.Recorder().Reset()
	if answer := get(t, client, network, "/v2.0/ports"); answer.Status != 200 {
		t.Errorf("answered %d: %s", answer.Status, answer.Body)
	}
	var got []int
	for _, c := range proxy.Recorder().Calls() {
		got = append(got, c.Status)
	}
	if d := cmp.Diff([]int{401, 201, 200}, got); d != "" {
		t.Errorf("refused, then logged in, then answered (-want +have): %s", d)
	}
}

func TestProxyReportsThatItsCloudDoesNotAnswer(t *testing.T) {
	cloud, _, client := upstream(t)
	if err := cloud.Close(); err != nil {
		t.Fatal(err)
	}
	if answer := get(t, client, network, "/v2.0/ports"); answer.Status != http.StatusBadGateway || !strings.Contains(string(answer.Body), "/v2.0/ports") {
		t.Errorf("answered %d: %s", answer.Status, answer.Body)
	}
}

func TestProxyEndsWhileARequestIsHeld(t *testing.T) {
	_, proxy, client := upstream(t)
	proxy.Faults().Add(wire.Fault{Service: network, Method: http.MethodDelete, Kind: wire.FaultHang})
	ended := make(chan error)
	go func() {
		_, err := client.Do(t.Context(), network, http.MethodDelete, "/v2.0/ports/none", nil)
		ended <- err
	}()
	for proxy.Faults().Held() == 0 {
		get(t, client, network, "/v2.0/ports")
	}
	if err := proxy.Close(); err != nil {
		t.Error(err)
	}
	<-ended
}

func TestRealAddressIsNotReplacedInsideOfALongerOne(t *testing.T) {
	r := newRewriter(map[string]string{"http://127.0.0.1:500": "http://p:1", "http://127.0.0.1:5000": "http://p:2"})
	got := string(r.text([]byte(`http://127.0.0.1:500/v3 "http://127.0.0.1:5000" http://127.0.0.1:50001 http://127.0.0.1:500`)))
	if want := `http://p:1/v3 "http://p:2" http://127.0.0.1:50001 http://p:1`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestRewrittenAnswerHasItsLength(t *testing.T) {
	r := newRewriter(map[string]string{"http://real": "http://127.0.0.1:33333"})
	response := &http.Response{Header: http.Header{"Location": {"http://real/v2"}, "Content-Length": {"11"}}, Body: io.NopCloser(strings.NewReader("http://real"))}
	if err := r.response(response); err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	if err != nil || int64(len(body)) != response.ContentLength || response.Header.Get("Content-Length") != fmt.Sprint(len(body)) {
		t.Errorf("%d bytes, Content-Length %s, %v", len(body), response.Header.Get("Content-Length"), err)
	}
	if location := response.Header.Get("Location"); location != "http://127.0.0.1:33333/v2" {
		t.Errorf("Location is %s", location)
	}
}

func TestLoadWithoutACloudSaysHowToStartOne(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "make openstack-up") {
		t.Errorf("nothing there: %v", err)
	}
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{}", `{"auth_url": 1}`} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if err := os.WriteFile(filepath.Join(dir, "out", "ids.json"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Load(dir); err == nil || !strings.Contains(err.Error(), "ids.json") {
				t.Error(err)
			}
		})
	}
}

func TestLoadReadsTheStateOfTheCloud(t *testing.T) {
	dir := t.TempDir()
	text := `{"auth_url": "http://127.0.0.1:5000/v3", "region": "RegionOne", "project_id": "p", "user": "k8s", "password": "secret",
		"subnet_id": "s", "public_network_id": "n", "nodes": {"node-1": {"id": "1", "status": "ACTIVE", "addresses": ["10.0.0.11"]}}}`
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "out", "ids.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Provider != "amphora" || !c.Patched || c.DataPlane != nil || c.Nodes["node-1"].Addresses[0].String() != "10.0.0.11" {
		t.Errorf("loaded %+v", c)
	}
	conf := c.CloudConf("http://127.0.0.1:1/v3")
	for _, part := range []string{`auth-url="http://127.0.0.1:1/v3"`, `username="k8s"`, `password="secret"`, `tenant-id="p"`, `subnet-id="s"`, `floating-network-id="n"`} {
		if !strings.Contains(conf, part) {
			t.Errorf("cloud.conf has no %s:\n%s", part, conf)
		}
	}
}

func TestCallsOfATestAreNotRecorded(t *testing.T) {
	cloud, _, _ := upstream(t)
	cloud.Recorder().Reset()
	user, admin := SimulatedUser(cloud), SimulatedAdmin(cloud)
	var made struct{ Port struct{ ID string } }
	body := map[string]any{"port": map[string]any{"network_id": cloud.IDs().PrivateNetwork}}
	if err := Call(t.Context(), user, network, http.MethodPost, "/v2.0/ports", body, &made); err != nil || made.Port.ID == "" {
		t.Fatalf("the port %+v, %v", made, err)
	}
	if err := Call(t.Context(), admin, network, http.MethodDelete, "/v2.0/ports/"+made.Port.ID, nil, nil); err != nil {
		t.Error(err)
	}
	err := Call(t.Context(), user, network, http.MethodGet, "/v2.0/ports/"+made.Port.ID, nil, nil)
	if failed := new(StatusError); !errors.As(err, &failed) || failed.Status != http.StatusNotFound || !strings.Contains(err.Error(), made.Port.ID) {
		t.Errorf("the port that was deleted: %v", err)
	}
	if err := Call(t.Context(), user, "object-store", http.MethodGet, "/", nil, nil); err == nil {
		t.Error("there is a service that the simulator does not have")
	}
	if calls := cloud.Recorder().Calls(); len(calls) > 0 {
		t.Errorf("recorded: %v", calls)
	}
}
