// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/operate/doctor"
)

// behindTLS puts Keystone behind a server with the certificate. cloud.conf trusts its CA if it is to.
func behindTLS(host string, ends time.Duration, trusted bool) func(*setup) {
	return func(s *setup) {
		c := s.newCertificate(host, time.Now().Add(ends))
		address, ca := s.serveTLS(s.proxy(nil), c)
		s.global("auth-url", address+"/v3")
		if trusted {
			path := filepath.Join(filepath.Dir(s.confPath), "ca.pem")
			s.must(os.WriteFile(path, ca, 0o600))
			s.global("ca-file", path)
		}
	}
}

// authURL sets auth-url.
func authURL(of func(*setup) string) func(*setup) {
	return func(s *setup) { s.global("auth-url", of(s)) }
}

// tokenFails makes the request for a token fail.
func tokenFails(f wire.Fault) func(*setup) {
	return func(s *setup) {
		f.Service, f.Method, f.Route = cloudsim.Identity, http.MethodPost, "/v3/auth/tokens"
		s.cloud.faults.Add(f)
	}
}

// wayToKeystone returns a situation in which the login fails for another reason than the credentials.
func wayToKeystone(name string, arise func(*setup), what, do string) situation {
	return situation{name: name, arise: arise, check: doctor.Credentials, status: doctor.Error, what: what, do: do, lie: createCredential}
}

var onTheWayToKeystone = []situation{
	wayToKeystone("The CA is not trusted", behindTLS("127.0.0.1", time.Hour, false), "certificate signed by unknown authority", "Check ca-file in [Global]"),
	wayToKeystone("The certificate is for another host", behindTLS("cloud.example.com", time.Hour, true), "cannot validate certificate for 127.0.0.1", "The host must be one of the names in the certificate"),
	wayToKeystone("The certificate has expired", behindTLS("127.0.0.1", -time.Hour, true), "certificate has expired", "must renew the certificate"),
	wayToKeystone("The name of the host is unknown", authURL(func(*setup) string { return "http://keystone.invalid:5000/v3" }), "no such host", "the DNS of this machine or Pod"),
	wayToKeystone("Nothing listens at the port", authURL(func(s *setup) string { return s.closedPort() + "/v3" }), "connection refused", "Nothing listens there"),
	wayToKeystone("https instead of http", authURL(func(s *setup) string { return strings.Replace(s.cloud.authURL, "http:", "https:", 1) }), "", "https:// must be http://"),
	wayToKeystone("http instead of https", func(s *setup) {
		address, _ := s.serveTLS(s.proxy(nil), nil)
		s.global("auth-url", strings.Replace(address, "https:", "http:", 1)+"/v3")
	}, "the server expects https", "http:// must be https://"),
	wayToKeystone("auth-url is that of a web page", authURL(func(s *setup) string { return s.webPage() + "/v3" }), "", "This is a web page"),
	wayToKeystone("auth-url is that of another server", authURL(func(s *setup) string { return s.elsewhere() + "/v3" }), "404", "is auth-url the address of Keystone?"),
	wayToKeystone("Keystone does not answer", func(s *setup) {
		tokenFails(wire.Fault{Kind: wire.FaultHang})(s)
		s.balancing("[Metadata]", "request-timeout = 300ms")
	}, "no answer within 300ms", "The service was reached, but did not answer"),
	wayToKeystone("Keystone fails", tokenFails(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusInternalServerError, Body: `{"error": {"message": "An unexpected error prevented the server from fulfilling your request."}}`}), "500", "ask the operator of the cloud"),
	wayToKeystone("A gateway before Keystone fails", tokenFails(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusBadGateway, Body: "<html>502</html>"}), "502", "The service fails"),
	wayToKeystone("Keystone limits the calls", tokenFails(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusTooManyRequests}), "429", "The service limits calls"),
	wayToKeystone("Keystone cuts the connection", tokenFails(wire.Fault{Kind: wire.FaultResetBefore}), "no answer", "The service was reached, but did not answer"),
}
