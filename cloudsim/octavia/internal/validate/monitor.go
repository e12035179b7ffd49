// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
)

// shortestUDPDelay is the minimum delay of UDP-CONNECT monitors, in seconds.
const shortestUDPDelay = 3

// NewMonitor makes and checks a monitor without adding it to the state.
func (c *Checks) NewMonitor(p *model.Pool, v schema.Values) (*model.Monitor, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, fault.ErrSecondMonitor // Octavia reports any duplicate like this
	}
	m := &model.Monitor{
		Object: model.NewObject(c.State.Now(), tags), Pool: p, Name: v.Text("name"), Kind: v.Text("type"),
		Delay: v.Number("delay", 0), Timeout: v.Number("timeout", 0),
		Retries: v.Number("max_retries", 1), RetriesDown: v.Number("max_retries_down", 3),
		Method: v.Text("http_method"), Path: v.Text("url_path"), Codes: v.Text("expected_codes"),
		Version: v.Text("http_version"), Domain: v.Text("domain_name"),
		AdminUp: v.Flag("admin_state_up", true),
	}
	if m.UsesHTTP() {
		m.Method, m.Path, m.Codes = cmp.Or(m.Method, "GET"), cmp.Or(m.Path, "/"), cmp.Or(m.Codes, "200")
	} else {
		for _, name := range []string{"http_method", "url_path", "expected_codes"} {
			if v.Text(name) != "" {
				return nil, fault.InvalidOption(name, "health monitors of type "+m.Kind)
			}
		}
	}
	return m, checkMonitorDomain(m)
}

func checkMonitorDomain(m *model.Monitor) error {
	switch {
	case m.Domain != "" && m.Version == "":
		return fault.Invalid("'http_version' must be specified when 'domain_name' is provided.")
	case m.Domain != "" && m.Version == "1.0":
		return fault.InvalidOption("http_version 1.0", "health monitors HTTP 1.1 domain name health check")
	}
	return nil
}

// CheckMonitorFitsPool refuses types that the pool's protocol does not allow.
func CheckMonitorFitsPool(kind string, delay int, p *model.Pool) error {
	if !p.UsesUDP() {
		if kind == "UDP-CONNECT" || kind == "SCTP" {
			return fault.Invalid("The %s type is only supported for pools of type UDP/SCTP.", kind)
		}
		return nil
	}
	switch kind {
	case "UDP-CONNECT":
		if delay < shortestUDPDelay {
			return fault.Invalid("The request delay value %d should be larger than %d for UDP-CONNECT health monitor type.", delay, shortestUDPDelay)
		}
	case "SCTP", "TCP", "HTTP":
	default:
		return fault.Invalid("The associated pool protocol is %s, so only a UDP-CONNECT/SCTP/TCP/HTTP health monitor is supported.", p.Protocol)
	}
	return nil
}

// CheckUDPMonitorTypes refuses TCP and HTTP monitors of UDP pools before 2.16.
func (c *Checks) CheckUDPMonitorTypes(kind string, p *model.Pool) error {
	if c.Minor < 16 && p.UsesUDP() && kind != "UDP-CONNECT" {
		return fault.Invalid("The associated pool protocol is %s, so only a UDP-CONNECT health monitor is supported.", p.Protocol)
	}
	return nil
}

// ChangeMonitor applies and checks an update.
func ChangeMonitor(m *model.Monitor, v schema.Values) error {
	for _, name := range []string{"http_method", "url_path", "expected_codes"} {
		if v.Has(name) && !m.UsesHTTP() {
			return fault.InvalidOption(name, "health monitors of type "+m.Kind)
		}
	}
	for _, name := range []string{"delay", "max_retries", "timeout"} {
		if v.IsNull(name) {
			return fault.InvalidOption("None", name)
		}
	}
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	if tags != nil {
		m.Tags = tags
	}
	v.Set("name", &m.Name)
	v.Set("http_version", &m.Version)
	v.Set("domain_name", &m.Domain)
	m.AdminUp = v.Flag("admin_state_up", m.AdminUp)
	m.Delay, m.Timeout = v.Number("delay", m.Delay), v.Number("timeout", m.Timeout)
	m.Retries = v.Number("max_retries", m.Retries)
	if v.Has("max_retries_down") {
		m.RetriesDown = v.Number("max_retries_down", 3)
	}
	if m.UsesHTTP() {
		v.Set("http_method", &m.Method)
		v.Set("url_path", &m.Path)
		v.Set("expected_codes", &m.Codes)
		m.Method, m.Path, m.Codes = cmp.Or(m.Method, "GET"), cmp.Or(m.Path, "/"), cmp.Or(m.Codes, "200")
	}
	return checkMonitorDomain(m)
}
