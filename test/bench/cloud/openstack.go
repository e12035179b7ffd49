// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"

	"gopkg.in/gcfg.v1"

	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// realOperation is the assumed maximum time of an operation of a real Octavia: the bench waits
// longer than a tenth of it before it considers a controller settled.
const realOperation = 30 * time.Second

// authURL is the line of a cloud.conf that names Keystone.
var authURL = regexp.MustCompile(`(?m)^\s*auth-url\s*=.*$`)

// Connect uses the OpenStack that a cloud.conf refers to. The controller reaches it through a
// proxy that counts its calls. The user must be of the domain Default and have a password.
func Connect(ctx context.Context, cloudConf string) (*Cloud, error) {
	text, err := os.ReadFile(cloudConf)
	if err != nil {
		return nil, fmt.Errorf("%w: start an OpenStack with `make openstack-up`, or name a cloud.conf", err)
	}
	login, subnet, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cloudConf, err)
	}
	user, err := openstack.Connect(ctx, login)
	if err != nil {
		return nil, err
	}
	// Changes of the controller are noticed as late as those of the bare calls.
	c := &Cloud{PollInterval: bareUpdate, SettleTime: settleTime(realOperation, 0), user: user, finished: map[string]time.Time{}, changes: map[string]int{}, seen: map[string]LoadBalancer{}}
	c.subnet, err = subnetOf(ctx, user, subnet)
	if err != nil {
		return nil, err
	}
	proxy, err := openstack.StartProxy(login.AuthURL, user.Endpoints())
	if err != nil {
		return nil, err
	}
	c.Conf = authURL.ReplaceAllLiteralString(string(text), fmt.Sprintf("auth-url=%q", proxy.AuthURL()))
	c.recorder, c.Faults, c.close = proxy.Recorder(), proxy.Faults(), proxy.Close
	measured := bare{user: user, subnet: subnet, address: c.NodeAddress, known: map[[2]int]Limits{}}
	c.limits = measured.limits
	return c, nil
}

// parse reads what the bench itself needs of a cloud.conf.
func parse(text string) (login openstack.Login, subnet string, err error) {
	var conf struct {
		Global struct {
			AuthURL                    string `gcfg:"auth-url"`
			Username, Password, Region string
			TenantID                   string `gcfg:"tenant-id"`
			TenantName                 string `gcfg:"tenant-name"`
		}
		LoadBalancer struct {
			SubnetID string `gcfg:"subnet-id"`
		}
	}
	if err := gcfg.FatalOnly(gcfg.ReadStringInto(&conf, text)); err != nil {
		return login, "", err
	}
	g := conf.Global
	if g.AuthURL == "" || g.Username == "" || g.Password == "" || conf.LoadBalancer.SubnetID == "" {
		return login, "", errors.New("the bench needs auth-url, username, password and subnet-id")
	}
	return openstack.Login{AuthURL: g.AuthURL, User: g.Username, Password: g.Password, ProjectID: g.TenantID, ProjectName: g.TenantName, Region: g.Region},
		conf.LoadBalancer.SubnetID, nil
}
