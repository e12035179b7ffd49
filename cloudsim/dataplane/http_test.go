// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pires/go-proxyproto"
)

// browser returns an HTTP client with one source address and its own connections.
func browser(t *testing.T, from netip.Addr) *http.Client {
	t.Helper()
	d := net.Dialer{}
	if from.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
	}
	tr := &http.Transport{DialContext: d.DialContext}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: 30 * time.Second}
}

// get returns status and body.
func get(t *testing.T, c *http.Client, url string) (int, string) {
	t.Helper()
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) }
}

func TestPrometheusListenerServesMetricsToAllowedClients(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("PROMETHEUS")
	friend, stranger := netip.MustParseAddr("127.1.2.3"), netip.MustParseAddr("127.1.2.4")
	lb.Listeners[0].Pool, lb.Listeners[0].AllowedCIDRs = nil, []netip.Prefix{netip.PrefixFrom(friend, 32)}
	set(t, p, lb)
	if status, body := get(t, browser(t, friend), "http://"+vip(lb)+"/metrics"); status != http.StatusOK || !strings.Contains(body, "\noctavia_loadbalancer_cpu ") {
		t.Errorf("%d: %s", status, body)
	}
	if status, _ := get(t, browser(t, friend), "http://"+vip(lb)+"/"); status != http.StatusNotFound {
		t.Errorf("elsewhere it answers %d", status)
	}
	if resp, err := browser(t, stranger).Get("http://" + vip(lb) + "/metrics"); err == nil {
		resp.Body.Close()
		t.Errorf("a stranger is answered %s", resp.Status)
	}
}

func TestHTTPListenerBalancesRequestsOfOneConnection(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("HTTP", startWeb(t, "a", says("a")), startWeb(t, "b", says("b")))
	set(t, p, lb)
	c := browser(t, netip.Addr{})
	got := map[string]int{}
	for range 10 {
		_, body := get(t, c, "http://"+vip(lb))
		got[body]++
	}
	if diff := cmp.Diff(map[string]int{"a": 5, "b": 5}, got); diff != "" {
		t.Error(diff)
	}
}

func TestHTTPRequestReachesTheMemberAsItWasSent(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("HTTP", startWeb(t, "a", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %s", r.Method, r.Host, r.RequestURI, r.Header.Get("X-Forwarded-Proto"), body)
	}))
	set(t, p, lb)
	req, err := http.NewRequest("PUT", "http://"+vip(lb)+"/a%2Fb//c?x=1;y", strings.NewReader("payload"))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "shop.example"
	req.Header.Set("X-Forwarded-Proto", "https")
	resp, err := browser(t, netip.Addr{}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	if want := "PUT shop.example /a%2Fb//c?x=1;y https payload"; string(got) != want {
		t.Errorf("the member got %q, want %q", got, want)
	}
}

func TestXForwardedForIsAddedOnlyIfConfigured(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("HTTP", startWeb(t, "a", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, strings.Join(r.Header.Values("X-Forwarded-For"), ", "))
	}))
	from := randomAddr()
	c := browser(t, from)
	for _, insert := range []bool{false, true} {
		lb.Listeners[0].XForwardedFor = insert
		set(t, p, lb)
		want := ""
		if insert {
			want = from.String()
		}
		if _, got := get(t, c, "http://"+vip(lb)); got != want {
			t.Errorf("insert=%t: X-Forwarded-For is %q, want %q", insert, got, want)
		}
	}
	req, _ := http.NewRequest("GET", "http://"+vip(lb), nil)
	req.Header.Set("X-Forwarded-For", "192.0.2.1")
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got, _ := io.ReadAll(resp.Body); string(got) != "192.0.2.1, "+from.String() {
		t.Errorf("with one from the client: %q", got)
	}
}

func TestHTTPListenerAnswersInPlaceOfFailedMembers(t *testing.T) {
	gone := httptest.NewUnstartedServer(nil)
	goneAddr := gone.Listener.Addr()
	gone.Close()
	silent, err := net.Listen("tcp", net.JoinHostPort(randomAddr().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	garbage := startBackend(t, "garbage")
	cases := map[string]struct {
		members []Member
		want    int
	}{
		"no member":      {nil, 503},
		"refusing":       {[]Member{memberAt("x", goneAddr)}, 503},
		"silent":         {[]Member{memberAt("x", silent.Addr())}, 504},
		"not HTTP":       {[]Member{garbage.member()}, 502},
		"one that works": {[]Member{memberAt("x", goneAddr), startWeb(t, "a", says("a"))}, 200},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, _ := newPlane(t)
			lb := simple("HTTP", c.members...)
			if c.want == 504 {
				lb.Listeners[0].MemberTimeout = 100 * time.Millisecond
			}
			set(t, p, lb)
			resp, err := browser(t, netip.Addr{}).Post("http://"+vip(lb), "text/plain", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want {
				t.Errorf("status %d, want %d", resp.StatusCode, c.want)
			}
		})
	}
}

func TestUpgradedConnectionIsForwarded(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("HTTP", startWeb(t, "a", func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		io.WriteString(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		rw.Flush()
		line, _ := rw.ReadString('\n')
		io.WriteString(rw, line)
		rw.Flush()
	}))
	set(t, p, lb)
	c := dial(t, vip(lb))
	io.WriteString(c.conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
	resp, err := http.ReadResponse(c.r, nil)
	if err != nil || resp.StatusCode != 101 {
		t.Fatalf("%v, %v", resp, err)
	}
	c.echo("through the upgraded connection")
}

func TestHTTPListenerWithProxyPool(t *testing.T) {
	p, _ := newPlane(t)
	ln, err := net.Listen("tcp", net.JoinHostPort(randomAddr().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	m := serveWeb(t, "a", &proxyproto.Listener{Listener: ln}, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, netip.MustParseAddrPort(r.RemoteAddr).Addr().String())
	})
	lb := simple("HTTP", m)
	lb.Listeners[0].Pool.Protocol = "PROXY"
	set(t, p, lb)
	for range 3 {
		from := randomAddr()
		if _, got := get(t, browser(t, from), "http://"+vip(lb)); got != from.String() {
			t.Errorf("the member sees %s, want %s", got, from)
		}
	}
}

func TestNewClientTimeoutLeavesHTTPConnectionsOpen(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("HTTP", startWeb(t, "a", says("a")))
	set(t, p, lb)
	c := dial(t, vip(lb))
	ask := func() {
		t.Helper()
		io.WriteString(c.conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
		resp, err := http.ReadResponse(c.r, nil)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	ask()
	lb.Listeners[0].ClientTimeout = 20 * time.Second
	set(t, p, lb)
	ask()
	if _, body := get(t, browser(t, netip.Addr{}), "http://"+vip(lb)); body != "a" {
		t.Errorf("a new connection got %q", body)
	}

	lb.Listeners[0].ClientTimeout = 50 * time.Millisecond
	set(t, p, lb)
	short := dial(t, vip(lb))
	if b, err := io.ReadAll(bufio.NewReader(short.conn)); err != nil || len(b) > 0 && !strings.Contains(string(b), "408") {
		t.Errorf("a client that says nothing got %q, %v", b, err)
	}
}
