// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// real is a real OpenStack that was brought up on this machine, behind a proxy of
// the test's own, in which calls fail.
type real struct {
	*openstack.Proxy
	cloud  *openstack.Cloud
	client *openstack.Client
}

// connectReal connects to the one with its state in the directory.
func connectReal(dir string) (*cloud, error) {
	var r real
	var err error
	if r.cloud, err = openstack.Load(dir); err != nil {
		return nil, err
	}
	if r.client, err = openstack.Connect(context.Background(), r.cloud.LoginAsUser()); err != nil {
		return nil, err
	}
	if r.Proxy, err = openstack.StartProxy(r.cloud.AuthURL, r.client.Endpoints()); err != nil {
		return nil, err
	}
	c := &cloud{backend: r}
	s, err := c.state()
	if err == nil {
		err = s.checkEmpty()
	}
	if err != nil {
		return nil, errors.Join(errors.New("the project has to have nothing at first"), err, r.close())
	}
	return c, nil
}

// clear deletes everything that the project has.
func (c *cloud) clear() error {
	late := time.After(cloudDurations().deadline)
	for {
		s, err := c.state()
		if err == nil {
			err = s.checkEmpty()
		}
		if err == nil {
			return nil
		}
		// What is rejected now is tried again.
		for _, b := range s.Balancers {
			_ = c.octavia(http.MethodDelete, "loadbalancers/"+b.ID+"?cascade=true", nil, nil)
		}
		for _, f := range s.FloatingIPs {
			_ = c.neutron(http.MethodDelete, "floatingips/"+f.ID, nil, nil)
		}
		select {
		case <-late:
			return fmt.Errorf("clear the project: %w", err)
		case <-time.After(time.Second):
		}
	}
}

// CloudConf leads to the proxy.
func (r real) CloudConf() string { return r.cloud.CloudConf(r.AuthURL()) }

func (r real) user() openstack.Requester { return r.client }
func (r real) subnet() string            { return r.cloud.Subnet }
func (r real) publicNetwork() string     { return r.cloud.PublicNetwork }
func (r real) close() error              { return r.Close() }
