// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"net/http"
	"regexp"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
)

// NewPool makes a pool without members, without adding it to the state.
func (c *Checks) NewPool(lb *model.LoadBalancer, v schema.Values) (*model.Pool, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	p := &model.Pool{
		Object: model.NewObject(c.State.Now(), tags), LB: lb, Name: v.Text("name"), Description: v.Text("description"),
		Protocol: v.Text("protocol"), Algorithm: v.Text("lb_algorithm"),
		AdminUp:     v.Flag("admin_state_up", true),
		Persistence: newPersistence(v.Object("session_persistence"), nil),
	}
	return p, nil
}

// newPersistence makes a session persistence, or changes the existing one.
func newPersistence(v schema.Values, old *model.Persistence) *model.Persistence {
	if len(v) == 0 {
		return nil
	}
	sp := model.Persistence{}
	if old != nil {
		sp = *old
	}
	if v.Text("type") != "" {
		sp.Kind = v.Text("type")
	}
	// The other attributes have defaults, so those that are not given are reset.
	sp.Cookie = v.Text("cookie_name")
	sp.Timeout = v.Number("persistence_timeout", 0)
	sp.Granularity = v.Text("persistence_granularity")
	return &sp
}

// badCookieName finds characters that the name of a cookie cannot have.
var badCookieName = regexp.MustCompile(`[\x00-\x20"(),/:;<=>?@[\\\]{}\x7f]`)

// checkPersistence refuses a persistence that the pool cannot have. who is Octavia's name of the
// pools that may have a timeout, which differs between create and update.
func checkPersistence(p *model.Pool, who string) error {
	sp := p.Persistence
	if sp == nil {
		return nil
	}
	if !p.UsesUDP() && (sp.Timeout != 0 || sp.Granularity != "") {
		return fault.Invalid("persistence_timeout and persistence_granularity is only for %s pools.", who)
	}
	if p.UsesUDP() {
		switch {
		case sp.Kind == "SOURCE_IP" && sp.Cookie != "":
			return fault.Invalid("session_persistence SOURCE_IP type for UDP and SCTP protocols only accepts: type, persistence_timeout, persistence_granularity.")
		case sp.Cookie != "":
			return fault.Invalid("Cookie names are not supported for UDP/SCTP pools.")
		case sp.Kind != "SOURCE_IP":
			return fault.Invalid("Session persistence of type %s is not supported for UDP/SCTP protocol pools.", sp.Kind)
		}
	}
	switch {
	case sp.Kind == "":
		return fault.Invalid("Invalid session_persistence provided.")
	case sp.Cookie != "" && sp.Kind != "APP_COOKIE":
		return fault.Invalid(`Field "cookie_name" can only be specified with session persistence of type "APP_COOKIE".`)
	case badCookieName.MatchString(sp.Cookie):
		return fault.Invalid(`Supplied "cookie_name" is invalid.`)
	case sp.Cookie == "" && sp.Kind == "APP_COOKIE":
		return fault.Invalid(`Field "cookie_name" must be specified when using the "APP_COOKIE" session persistence type.`)
	}
	return nil
}

// CheckNewPool checks the pool against its listener, which may be nil. Octavia checks the
// listener's protocol only if the request names no load balancer.
func (c *Checks) CheckNewPool(p *model.Pool, l *model.Listener, byListener bool) error {
	if byListener {
		if err := checkDefaultPool(l, p); err != nil {
			return err
		}
	}
	if err := checkPersistence(p, "UDP and SCTP protocol"); err != nil {
		return err
	}
	if err := c.State.Quotas.Check(p.LB.Project, model.PoolQuota, 1); err != nil {
		return err
	}
	if l != nil && l.Pool != nil {
		return fault.New(http.StatusConflict, "This listener already has a default pool")
	}
	return nil
}

// ChangePool applies and checks an update.
func (c *Checks) ChangePool(p *model.Pool, v schema.Values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	v.Set("name", &p.Name)
	v.Set("description", &p.Description)
	p.AdminUp = v.Flag("admin_state_up", p.AdminUp)
	if v.Text("lb_algorithm") != "" {
		p.Algorithm = v.Text("lb_algorithm")
	}
	if tags != nil {
		p.Tags = tags
	}
	if v.Has("session_persistence") {
		p.Persistence = newPersistence(v.Object("session_persistence"), p.Persistence)
		if err := checkPersistence(p, "UDP protocol"); err != nil {
			return err
		}
	}
	return c.changePoolTLS(p, v)
}
