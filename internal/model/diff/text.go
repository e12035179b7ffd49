// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func (op CreateLoadBalancer) String() string {
	if len(op.LoadBalancer.Listeners) == 0 {
		return fmt.Sprintf("create load balancer %s without ports", op.LoadBalancer.Name)
	}
	ports := make([]string, len(op.LoadBalancer.Listeners))
	for i, l := range op.LoadBalancer.Listeners {
		ports[i] = portText(l.Key())
	}
	return fmt.Sprintf("create load balancer %s with ports %s", op.LoadBalancer.Name, strings.Join(ports, ", "))
}

func (op UpdateLoadBalancer) String() string {
	return fmt.Sprintf("update load balancer %s: %s", op.ID, fields(
		change("tags", op.Tags), change("admin down", op.AdminDown)))
}

func (op SetVIPSecurityGroups) String() string {
	if len(op.Groups) == 0 {
		return fmt.Sprintf("remove the security groups of the VIP of load balancer %s", op.ID)
	}
	return fmt.Sprintf("set the security groups of the VIP of load balancer %s: %s", op.ID, strings.Join(op.Groups, ", "))
}

func (op FailoverLoadBalancer) String() string {
	return fmt.Sprintf("fail over load balancer %s", op.ID)
}

func (op DeleteLoadBalancer) String() string {
	return fmt.Sprintf("delete load balancer %s and its children", op.ID)
}

func (op CreateListener) String() string {
	return fmt.Sprintf("open port %s (listener %s)", portText(op.Listener.Key()), op.Listener.Name)
}

func (op UpdateListener) String() string {
	return fmt.Sprintf("update port %s: %s", portText(op.Key), fields(
		change("connection limit", op.ConnectionLimit), change("allowed sources", op.AllowedCIDRs), change("timeouts", op.Timeouts),
		change("headers added", op.InsertHeaders), change("TLS", op.TLS), change("HSTS", op.HSTS), change("pool", op.PoolID), change("admin down", op.AdminDown))) + unfinished(op.LeftBehind) + repeats(op.Failed)
}

func (op DeleteListener) String() string {
	return fmt.Sprintf("close port %s (listener %s)", portText(op.Key), op.ID) + repeats(op.Failed)
}

func (op SetTags) String() string {
	return fmt.Sprintf("set the tags of %s %s: %q", op.Of, op.Name, op.Tags)
}

func (op CreatePool) String() string {
	return fmt.Sprintf("create pool %s (%s, %s)", op.Pool.Name, op.Pool.Protocol, op.Pool.Algorithm)
}

func (op UpdatePool) String() string {
	affinity := "no client affinity"
	if op.Persistence != nil {
		affinity = "affinity by " + op.Persistence.Type
	}
	return fmt.Sprintf("update pool %s: %s, %s", op.Name, op.Algorithm, affinity) + repeats(op.Failed)
}

func (op DeletePool) String() string {
	return fmt.Sprintf("delete pool %s (%s)", op.Name, op.ID) + unfinished(op.LeftBehind) + repeats(op.Failed)
}

func (op SetMembers) String() string {
	return fmt.Sprintf("set the %d members of pool %s: %d added, %d removed, %d changed",
		len(op.Members), op.PoolName, op.Added, op.Removed, op.Changed) + repeats(op.Failed)
}

func (op CreateMonitor) String() string {
	return fmt.Sprintf("create %s health monitor for pool %s", op.Monitor.Type, op.PoolName)
}

func (op UpdateMonitor) String() string {
	return fmt.Sprintf("update health monitor %s: every %d s, timeout %d s, %d up, %d down",
		op.Monitor.Name, op.Monitor.DelaySeconds, op.Monitor.TimeoutSeconds, op.Monitor.MaxRetries, op.Monitor.MaxRetriesDown) + repeats(op.Failed)
}

func (op DeleteMonitor) String() string {
	return fmt.Sprintf("delete health monitor of pool %s", op.PoolName) + repeats(op.Failed)
}

func (op CreateFloatingIP) String() string {
	if op.FloatingIP.Address != "" {
		return fmt.Sprintf("create floating IP %s", op.FloatingIP.Address)
	}
	return fmt.Sprintf("create floating IP from network %s", op.FloatingIP.NetworkID)
}

func (op AssociateFloatingIP) String() string {
	return fmt.Sprintf("attach floating IP %s", op.Address)
}

func (op DisassociateFloatingIP) String() string {
	if op.For != "" {
		return fmt.Sprintf("detach floating IP %s, to attach %s in its place", op.Address, op.For)
	}
	return fmt.Sprintf("detach floating IP %s and keep it", op.Address)
}

func (op DeleteFloatingIP) String() string {
	return fmt.Sprintf("delete floating IP %s", op.Address)
}

func (op SetFloatingIPTags) String() string {
	return fmt.Sprintf("set the tags of floating IP %s: %q", op.Address, op.Tags)
}

// unfinished explains a write that changes no value, because Octavia left the object PENDING.
func unfinished(left bool) string {
	if left {
		return ", because Octavia did not finish it"
	}
	return ""
}

// repeats explains a write to something in ERROR.
func repeats(failed bool) string {
	if failed {
		return ", because it is in ERROR"
	}
	return ""
}

func portText(k lb.ListenerKey) string { return fmt.Sprintf("%s/%d", k.Transport, k.Port) }

// change describes one field of an update, or returns "" if it is not set.
func change[T any](name string, value *T) string {
	if value == nil {
		return ""
	}
	text, err := json.Marshal(value)
	if err != nil {
		return name
	}
	return name + " " + string(text)
}

func fields(all ...string) string {
	var set []string
	for _, c := range all {
		if c != "" {
			set = append(set, c)
		}
	}
	return strings.Join(set, ", ")
}
