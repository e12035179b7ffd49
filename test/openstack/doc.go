// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openstack gives tests a real OpenStack that was brought up on this
// machine: what it has ([Load]), a client for what a test itself asks of it
// ([Client]), a proxy between it and the program under test that records every
// call and can disturb it ([Proxy]), and a way past the APIs, to its database,
// for states that its APIs cannot be asked for ([Cloud.SQL]). What tests ask of a
// simulated OpenStack goes through a client with the same method ([SimulatedClient]).
//
// It is for tests, and imports of the project cloudsim and cloudsim/wire, the frame
// that the simulator's services stand in too, and those services for the names of
// their routes. So calls to a real cloud and to a simulated one are counted, and go
// wrong, in the same way.
package openstack
