// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package contract_test states, case by case, what kube-octavia relies on in an OpenStack, and what
// the simulator therefore must do. Each case is a sentence. The cloud is a parameter:
//
//	go test ./test/contract                                     the simulator
//	go test ./test/contract -openstack=DIR                      the real one that hack/openstack keeps in DIR
//	go test ./test/contract -openstack=DIR -record              the same, and record its answers
//
// A case asserts what it says, on both clouds. Beside that, every answer it gets
// is compared with the one recorded from the real cloud in testdata: status,
// headers that matter, the set of keys with their JSON types, numbers and booleans,
// and for a refusal the words (see recording_test.go). So the simulator cannot differ in anything that
// a case has touched. Where the two differ, the simulator is wrong.
//
// Clouds are of different releases. A case that holds in some of them only says in
// which (see since and until), and of a newer release only the answers are recorded that
// differ from those of the release before it.
//
// Cases talk HTTP, not through the product or an SDK, so that what is stated is
// the wire. Of the project the package imports cloudsim to start it, and
// test/openstack to find a real one.
package contract_test
