// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"regexp"
)

// newPool makes a pool without members, without putting it into the state.
func (c *Checks) newPool(lb *loadBalancer, v values) (*pool, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	p := &pool{
		object: newObject(c.State.Now(), tags), lb: lb, name: v.text("name"), description: v.text("description"),
		protocol: v.text("protocol"), algorithm: v.text("lb_algorithm"),
		adminUp:     v.flag("admin_state_up", true),
		persistence: newPersistence(v.object("session_persistence"), nil),
	}
	return p, nil
}

// newPersistence makes a session persistence, or changes the one there was.
func newPersistence(v values, old *persistence) *persistence {
	if len(v) == 0 {
		return nil
	}
	sp := persistence{}
	if old != nil {
		sp = *old
	}
	if v.text("type") != "" {
		sp.kind = v.text("type")
	}
	// The rest has defaults, so what is not given is reset.
	sp.cookie = v.text("cookie_name")
	sp.timeout = v.number("persistence_timeout", 0)
	sp.granularity = v.text("persistence_granularity")
	return &sp
}

// badCookieName finds characters that no cookie's name has.
var badCookieName = regexp.MustCompile(`[\x00-\x20"(),/:;<=>?@[\\\]{}\x7f]`)

// checkPersistence refuses what a pool cannot have. who is how Octavia calls
// the pools that may have a timeout, which differs from create to update.
func (p *pool) checkPersistence(who string) error {
	sp := p.persistence
	if sp == nil {
		return nil
	}
	if !p.usesUDP() && (sp.timeout != 0 || sp.granularity != "") {
		return invalid("persistence_timeout and persistence_granularity is only for %s pools.", who)
	}
	if p.usesUDP() {
		switch {
		case sp.kind == "SOURCE_IP" && sp.cookie != "":
			return invalid("session_persistence SOURCE_IP type for UDP and SCTP protocols only accepts: type, persistence_timeout, persistence_granularity.")
		case sp.cookie != "":
			return invalid("Cookie names are not supported for UDP/SCTP pools.")
		case sp.kind != "SOURCE_IP":
			return invalid("Session persistence of type %s is not supported for UDP/SCTP protocol pools.", sp.kind)
		}
	}
	switch {
	case sp.kind == "":
		return invalid("Invalid session_persistence provided.")
	case sp.cookie != "" && sp.kind != "APP_COOKIE":
		return invalid(`Field "cookie_name" can only be specified with session persistence of type "APP_COOKIE".`)
	case badCookieName.MatchString(sp.cookie):
		return invalid(`Supplied "cookie_name" is invalid.`)
	case sp.cookie == "" && sp.kind == "APP_COOKIE":
		return invalid(`Field "cookie_name" must be specified when using the "APP_COOKIE" session persistence type.`)
	}
	return nil
}

// checkNewPool checks the pool against its listener, nil for none. Octavia looks
// at the listener's protocol only if the request named no load balancer.
func (c *Checks) checkNewPool(p *pool, l *listener, byListener bool) error {
	if byListener {
		if err := checkDefaultPool(l, p); err != nil {
			return err
		}
	}
	if err := p.checkPersistence("UDP and SCTP protocol"); err != nil {
		return err
	}
	if err := c.State.Quotas.Check(p.lb.project, poolQuota, 1); err != nil {
		return err
	}
	if l != nil && l.pool != nil {
		return faultf(http.StatusConflict, "This listener already has a default pool")
	}
	return nil
}

// changePool applies and checks an update.
func (c *Checks) changePool(p *pool, v values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	v.set("name", &p.name)
	v.set("description", &p.description)
	p.adminUp = v.flag("admin_state_up", p.adminUp)
	if v.text("lb_algorithm") != "" {
		p.algorithm = v.text("lb_algorithm")
	}
	if tags != nil {
		p.tags = tags
	}
	if v.has("session_persistence") {
		p.persistence = newPersistence(v.object("session_persistence"), p.persistence)
		if err := p.checkPersistence("UDP protocol"); err != nil {
			return err
		}
	}
	return c.changePoolTLS(p, v)
}
