// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim

import (
	"cmp"
	"fmt"
	"time"
)

// Duration is a time.Duration that is text in JSON: "1m30s".
type Duration time.Duration

// MarshalText writes the duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the duration; it must not be negative.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err == nil && v < 0 {
		err = fmt.Errorf("the duration %s is negative", text)
	}
	*d = Duration(v)
	return err
}

// Settings can be changed while the cloud runs.
type Settings struct {
	APIVersion    string   `json:"api_version"`
	Provider      string   `json:"provider"`
	BuildTime     Duration `json:"build_time"`
	UpdateTime    Duration `json:"update_time"`
	DeleteTime    Duration `json:"delete_time"`
	TokenLifetime Duration `json:"token_lifetime"`
}

// SettingsChange has the settings to change: those that are not nil.
type SettingsChange struct {
	APIVersion    *string   `json:"api_version"`
	Provider      *string   `json:"provider"`
	BuildTime     *Duration `json:"build_time"`
	UpdateTime    *Duration `json:"update_time"`
	DeleteTime    *Duration `json:"delete_time"`
	TokenLifetime *Duration `json:"token_lifetime"`
}

// Settings returns the current settings. An empty APIVersion or Provider means Octavia's default.
func (c *Cloud) Settings() Settings {
	c.settingsMu.Lock()
	defer c.settingsMu.Unlock()
	return c.settings
}

// Change changes the given settings. On an error nothing changes. Changes of load balancers in
// progress are not affected.
func (c *Cloud) Change(change SettingsChange) error {
	c.settingsMu.Lock()
	defer c.settingsMu.Unlock()
	next := c.settings
	next.APIVersion = *cmp.Or(change.APIVersion, &next.APIVersion)
	next.Provider = *cmp.Or(change.Provider, &next.Provider)
	next.BuildTime = *cmp.Or(change.BuildTime, &next.BuildTime)
	next.UpdateTime = *cmp.Or(change.UpdateTime, &next.UpdateTime)
	next.DeleteTime = *cmp.Or(change.DeleteTime, &next.DeleteTime)
	next.TokenLifetime = *cmp.Or(change.TokenLifetime, &next.TokenLifetime)
	if change.APIVersion != nil || change.Provider != nil {
		if err := c.octavia.SetOffer(next.APIVersion, next.Provider); err != nil {
			return err
		}
	}
	c.octavia.SetTimes(time.Duration(next.BuildTime), time.Duration(next.UpdateTime), time.Duration(next.DeleteTime))
	c.keystone.SetTokenLifetime(time.Duration(next.TokenLifetime))
	c.settings = next
	return nil
}

// SetBuildTime sets how long load balancers are PENDING_CREATE from now on.
func (c *Cloud) SetBuildTime(d time.Duration) {
	_ = c.Change(SettingsChange{BuildTime: (*Duration)(&d)}) // a time is never refused
}

// SetUpdateTime sets how long load balancers are PENDING_UPDATE from now on.
func (c *Cloud) SetUpdateTime(d time.Duration) {
	_ = c.Change(SettingsChange{UpdateTime: (*Duration)(&d)})
}

// SetDeleteTime sets how long load balancers are PENDING_DELETE from now on.
func (c *Cloud) SetDeleteTime(d time.Duration) {
	_ = c.Change(SettingsChange{DeleteTime: (*Duration)(&d)})
}

// State returns the number of objects of each kind, by service.
func (c *Cloud) State() map[string]map[string]int {
	n := c.octavia.Counts()
	return map[string]map[string]int{
		Identity: c.keystone.Counts(), Network: c.neutron.Counts(), Compute: c.nova.Counts(), KeyManager: c.barbican.Counts(),
		LoadBalancer: {
			"loadbalancers": n.LoadBalancers, "listeners": n.Listeners, "pools": n.Pools, "members": n.Members, "healthmonitors": n.HealthMonitors,
		},
	}
}
