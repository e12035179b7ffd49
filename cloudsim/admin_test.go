// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// admin makes a request to the admin API.
func admin(t *testing.T, c *cloudsim.Cloud, method, path, body string) (status int, answer map[string]any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, c.AdminURL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Close = true
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var read bytes.Buffer
	if _, err := read.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	if read.Len() > 0 && json.Unmarshal(read.Bytes(), &answer) != nil {
		t.Fatalf("%s %s: no JSON: %s", method, path, &read)
	}
	return resp.StatusCode, answer
}

func TestAdminAddsListsAndRemovesFaults(t *testing.T) {
	c := oneNode(t)
	compute := client(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), openstack.NewComputeV2)
	status, fault := admin(t, c, "POST", "/faults", `{"service":"compute","route":"/v2.1/servers/detail","kind":"status","status":503,"body":"{}","delay":"1s"}`)
	if status != 200 || fault["delay"] != "1s" {
		t.Fatal(status, fault)
	}
	if _, err := serverNames(t.Context(), compute); !gophercloud.ResponseCodeIs(err, 503) {
		t.Errorf("got %v", err)
	}
	id, _ := fault["id"].(string)
	if _, list := admin(t, c, "GET", "/faults", ""); len(list["faults"].([]any)) != 1 {
		t.Errorf("listed %v", list)
	}
	if status, _ := admin(t, c, "DELETE", "/faults/"+id, ""); status != 204 {
		t.Errorf("delete: %d", status)
	}
	if status, _ := admin(t, c, "DELETE", "/faults/"+id, ""); status != 404 {
		t.Errorf("delete again: %d", status)
	}
	if got, err := serverNames(t.Context(), compute); err != nil || got != "node-1" {
		t.Errorf("got %q %v", got, err)
	}
	for name, bad := range map[string]string{
		"unknown kind":                  `{"kind":"nonsense"}`,
		"status fault without a status": `{"kind":"status"}`,
		"negative delay":                `{"kind":"latency","delay":"-1s"}`,
		"unknown key":                   `{"kind":"hang","typo":1}`,
		"not JSON":                      `no JSON`,
	} {
		t.Run(name, func(t *testing.T) {
			if status, answer := admin(t, c, "POST", "/faults", bad); status != 400 || answer["error"] == nil {
				t.Errorf("%s: got %d %v", bad, status, answer)
			}
		})
	}
	admin(t, c, "POST", "/faults", `{"kind":"hang","service":"compute"}`)
	if status, _ := admin(t, c, "DELETE", "/faults", ""); status != 204 || len(c.Faults().List()) != 0 {
		t.Errorf("delete all: %d", status)
	}
}

func TestAdminListsAndClearsCalls(t *testing.T) {
	c := oneNode(t)
	wantServers(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), "node-1")
	_, counts := admin(t, c, "GET", "/counts", "")
	if got := counts["counts"].(map[string]any)["GET /v2.1/servers/detail"]; got != 1.0 {
		t.Errorf("counted %v", counts)
	}
	_, calls := admin(t, c, "GET", "/calls?service=compute&method=GET&route=/v2.1/servers/detail", "")
	list, _ := calls["calls"].([]any)
	if len(list) != 1 || list[0].(map[string]any)["project_id"] != c.IDs().Project {
		t.Errorf("recorded %v", calls)
	}
	if status, _ := admin(t, c, "POST", "/reset", ""); status != 204 || len(c.Recorder().Calls()) != 0 {
		t.Errorf("reset: %d", status)
	}
}

func TestAdminAddsAndRemovesServers(t *testing.T) {
	c := start(t, cloudsim.Options{})
	p := mustLogin(t, passwordOf(c, cloudsim.UserK8s))
	network := client(t, p, openstack.NewNetworkV2)
	status, made := admin(t, c, "POST", "/servers", `{"name":"node-9"}`)
	id, _ := made["id"].(string)
	if status != 200 || id == "" {
		t.Fatal(status, made)
	}
	wantServers(t, p, "node-9")
	pages, err := ports.List(network, ports.ListOpts{DeviceID: id}).AllPages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all, err := ports.ExtractPorts(pages); err != nil || len(all) != 1 || all[0].DeviceOwner != "compute:nova" {
		t.Errorf("got ports %v %v", all, err)
	}
	if _, list := admin(t, c, "GET", "/servers", ""); len(list["servers"].([]any)) != 1 {
		t.Errorf("listed %v", list)
	}
	before := c.State()[cloudsim.Network]["ports"]
	if status, answer := admin(t, c, "DELETE", "/servers/"+id, ""); status != 204 {
		t.Error(status, answer)
	}
	if after := c.State()[cloudsim.Network]["ports"]; after != before-1 {
		t.Errorf("%d ports before, %d after", before, after)
	}
	wantServers(t, p, "")
	if status, _ := admin(t, c, "DELETE", "/servers/"+id, ""); status != 404 {
		t.Errorf("delete again: %d", status)
	}
	for _, bad := range []string{`{}`, `{"name":"x","addresses":["192.0.2.1"]}`, `{"name":"x","addresses":["nonsense"]}`} {
		if status, answer := admin(t, c, "POST", "/servers", bad); status != 400 {
			t.Errorf("%s: got %d %v", bad, status, answer)
		}
	}
}

func TestAdminSetsLatency(t *testing.T) {
	c := oneNode(t)
	status, answer := admin(t, c, "PUT", "/latency", `{"service":"compute","latency":"2ms"}`)
	if status != 200 || len(answer["latency"].([]any)) != 1 {
		t.Error(status, answer)
	}
	wantServers(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), "node-1")
	for _, call := range c.Recorder().Calls() {
		if call.Service == cloudsim.Compute && call.Duration < 2*time.Millisecond {
			t.Errorf("%s %s took %v", call.Method, call.Path, call.Duration)
		}
	}
	if status, _ := admin(t, c, "DELETE", "/latency", ""); status != 204 || len(c.Latency().List()) != 0 {
		t.Errorf("delete: %d", status)
	}
}
