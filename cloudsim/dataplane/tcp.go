// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"net"

	"github.com/inetaf/tcpproxy"
)

// serveTCP forwards one connection to a member and returns when both sides have ended. If no member
// accepts it, the client sees a reset.
func (l *listener) serveTCP(client *conn) {
	defer func() { _ = client.Close() }()
	target := tcpproxy.DialProxy{
		DialTimeout: -1, // dial has its own timeout for each member
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			member, err := l.dial(l.plane.ctx, client.remote(), client.local())
			if err != nil {
				return nil, err
			}
			conf := l.conf.Load()
			pair(client, member, conf.ClientTimeout, conf.MemberTimeout)
			return member, nil
		},
		OnDialError: func(_ net.Conn, err error) {
			l.plane.logger.V(1).Info("Connection not forwarded", "listener", l.id, "client", client.remote(), "reason", err.Error())
			client.reset()
		},
	}
	target.HandleConn(client)
}
