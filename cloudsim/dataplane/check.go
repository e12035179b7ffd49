// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/pires/go-proxyproto"
)

// run checks the member once; nil means that it is healthy.
func (c check) run(ctx context.Context) error {
	if !c.target.Addr().IsLoopback() {
		return fmt.Errorf("monitor address %s is not a loopback address", c.target.Addr())
	}
	ctx, cancel := context.WithTimeout(ctx, c.monitor.Timeout)
	defer cancel()
	switch c.monitor.Type {
	case "TCP":
		conn, err := c.connect(ctx)
		if err != nil {
			return err
		}
		return conn.Close()
	case "HTTP":
		return c.get(ctx, "http")
	case "HTTPS":
		return c.get(ctx, "https")
	case "TLS-HELLO":
		return c.handshake(ctx)
	case "UDP-CONNECT":
		return c.udp(ctx)
	default:
		return c.ping(ctx)
	}
}

// connect opens a TCP connection and sends the PROXY header if the protocol of the pool requires
// it.
func (c check) connect(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.target.String())
	if err != nil {
		return nil, err
	}
	if v := proxyVersion(c.poolProtocol); v != 0 {
		h := proxyproto.HeaderProxyFromAddrs(v, conn.LocalAddr(), conn.RemoteAddr())
		if _, err := h.WriteTo(conn); err != nil {
			_ = conn.Close()
			return nil, err
		}
	}
	return conn, nil
}

// get makes one request and compares the status. Redirects are not followed
// and certificates not verified, as in Octavia.
func (c check) get(ctx context.Context, scheme string) error {
	method, path := c.monitor.HTTPMethod, c.monitor.URLPath
	if method == "" {
		method = http.MethodGet
	}
	if path == "" {
		path = "/"
	}
	req, err := http.NewRequestWithContext(ctx, method, scheme+"://"+c.target.String()+path, nil)
	if err != nil {
		return err
	}
	t := &http.Transport{
		DisableKeepAlives: true,
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // a health check does not verify identities
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx) },
	}
	resp, err := t.RoundTrip(req)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	codes, err := parseCodes(c.monitor.ExpectedCodes)
	if err != nil {
		return err
	}
	if !codes.contain(resp.StatusCode) {
		return fmt.Errorf("status %d, expected %s", resp.StatusCode, codes)
	}
	return nil
}

// handshake asks for a complete TLS handshake.
func (c check) handshake(ctx context.Context) error {
	conn, err := c.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	return tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(ctx) //nolint:gosec // see get
}

// udp sends a datagram. Only a refusal is a failure: no answer within the timeout means that the
// port is open.
func (c check) udp(ctx context.Context) error {
	conn, err := new(net.Dialer).DialContext(ctx, "udp", c.target.String())
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := conn.Write(nil); err != nil {
		return err
	}
	_, err = conn.Read(make([]byte, 1))
	if isRefused(err) {
		return err
	}
	return nil
}

// ping checks that the address is up. Every loopback address that can be bound answers echo
// requests, and binding needs no privileges.
func (c check) ping(ctx context.Context) error {
	conn, err := new(net.ListenConfig).ListenPacket(ctx, "udp", net.JoinHostPort(c.target.Addr().String(), "0"))
	if err != nil {
		return err
	}
	return conn.Close()
}

// codeRanges are the expected codes of an HTTP monitor: "200", "200,202" or
// "200-204".
type codeRanges [][2]int

func parseCodes(s string) (codeRanges, error) {
	if s == "" {
		return codeRanges{{200, 200}}, nil
	}
	var codes codeRanges
	for _, part := range strings.Split(s, ",") {
		low, high, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			high = low
		}
		from, err1 := strconv.Atoi(low)
		to, err2 := strconv.Atoi(high)
		if err1 != nil || err2 != nil || from > to {
			return nil, fmt.Errorf("expected_codes %q is neither a code, a list nor a range", s)
		}
		codes = append(codes, [2]int{from, to})
	}
	return codes, nil
}

func (r codeRanges) contain(code int) bool {
	for _, c := range r {
		if c[0] <= code && code <= c[1] {
			return true
		}
	}
	return false
}

// String writes the codes as Octavia does.
func (r codeRanges) String() string {
	var parts []string
	for _, c := range r {
		if c[0] == c[1] {
			parts = append(parts, strconv.Itoa(c[0]))
			continue
		}
		parts = append(parts, fmt.Sprintf("%d-%d", c[0], c[1]))
	}
	return strings.Join(parts, ",")
}
