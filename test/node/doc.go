// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package node gives a cluster that has only an API server nodes that answer:
// for each node it stands in for kubelet and kube-proxy, in one process. It is
// for the demo and the end-to-end tests. There are two kinds of nodes, those on
// loopback addresses, for which no root is needed, and those that have a network
// namespace each, on which a real load balancer can forward real packets.
//
// As a kubelet it registers the Node, and runs every Pod that is bound to one
// of its nodes: not the Pod's image, but a small server that answers on the
// Pod's container ports (see [Answer]). As a kube-proxy it listens on the
// NodePorts and health check node ports of all Services and forwards to the
// endpoints that the cluster's own endpointslice controller publishes.
//
// The simulated pod network: the API server refuses loopback addresses in
// EndpointSlices, so a Pod's address is 10.A.B.C, of 10.240.0.0/12, and its
// server really listens on 127.A.B.C. Nodes forward to 127.A.B.C for 10.A.B.C.
// With network namespaces Pods share one, in which every address can be bound
// (see [Options]), and listen on the addresses they have. Nodes forward from
// inside of it, from their own address or, with the policy Local, the client's:
// so a Pod sees there what it would see behind kube-proxy.
//
// Where it differs from kube-proxy: endpoints take turns instead of being drawn
// at random, and a NodePort without endpoints is refused also where kube-proxy
// would drop the packets (externalTrafficPolicy Local).
//
// The package imports client-go, test/netns and, for the forwarding,
// cloudsim/dataplane.
package node
