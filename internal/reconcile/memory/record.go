// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory holds what the controller remembers of each Service between passes, so that
// a pass need not read back what the previous one wrote. Nothing is stored on disk.
package memory

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Record is what is remembered of one Service. It is plain data.
type Record struct {
	ServiceUID types.UID
	// OwnerUID is the uid of the Service in tags, see lb.Owner.ServiceUID.
	OwnerUID   string
	Cloud      Cloud
	Progress   Progress
	Drift      Drift
	Recovery   Recovery
	Unfinished Unfinished
	Failed     Failed
	// Rejected are the floating IPs that the cloud did not attach, by their ids. The map is replaced, never changed in
	// place.
	Rejected map[string]Rejected
	// QuotaRefusals counts consecutive rejections because of a quota.
	QuotaRefusals int
	// Refused are the members that Octavia refuses.
	Refused RefusedMembers
	// Certificates are the certificates that Octavia cannot read.
	Certificates RefusedCertificates
	// Certificate is the certificate of the Secret that the Service names, as last read.
	Certificate desired.SecretCertificate
}

// Cloud is the state of the Service's cloud objects.
type Cloud struct {
	Observed lb.Observed
	// Known is whether a plan may be based on Observed. Otherwise the cloud is read first.
	Known bool
	// Confirmed is whether Observed was read after the last write. Otherwise it is the
	// expected result of that write.
	Confirmed bool
	// Stale is whether another client may have changed a setting of the load balancer unnoticed. There are two reasons.
	// After a write, the status tree does not show settings, and updated_at does not show who made a change. And a
	// change in the same second as a read does not change updated_at.
	Stale bool
	// Written is when Observed was last changed.
	Written time.Time
	// Addressed is when a floating IP of the load balancer was last attached or taken away, for this Service or another
	// one that uses the load balancer, or zero.
	Addressed time.Time
	// Others are the ids of load balancers with the tags of the Service whose id is not in its annotation, and which do
	// not have its name.
	Others []string
	// Expected is the expected state of the load balancer when it is read again, or nil. Differences that this read
	// finds are changes by another client.
	Expected *lb.Observed
	// Unanswered is the time of a create without an answer, or zero. Octavia may still carry
	// it out.
	Unanswered time.Time
	// CreatedWithChildren is the id of a load balancer that was created together with its children by
	// one call, or "".
	CreatedWithChildren string
	// CreateWithoutChildren is whether the next load balancer is created without children, because Octavia rejected the
	// create with children, or such load balancers went into ERROR twice.
	CreateWithoutChildren bool
	// Removed is what our own writes have removed from the load balancer, until a read shows that it is gone.
	Removed Removed
	// FreesQuota is whether the change in progress makes room for other Services.
	FreesQuota bool
}

// Removed are the names of parts of a load balancer that our own writes have removed, see lb.LoadBalancer.PartNames,
// and the time of the last of these writes.
//
// A provider that finishes late may still show them unchanged: whenever provider ovn has done a part of a change, it
// reports all members of the load balancer as ACTIVE, even those that Octavia is deleting. The controller once treated
// these members as changes by another client. After three updates in a row, it stopped for ten minutes.
type Removed struct {
	Parts []string
	Since time.Time
}

// With returns the parts that the provider may still show now, and the parts that are removed now. A provider shows
// removed parts for at most the time most.
func (r Removed) With(parts []string, now time.Time, most time.Duration) Removed {
	if len(parts) == 0 {
		return r
	}
	return Removed{Parts: slices.Concat(r.Shown(now, most), parts), Since: now}
}

// Shown returns the parts that the provider may still show now. A provider shows removed parts for at most the time
// most.
func (r Removed) Shown(now time.Time, most time.Duration) []string {
	if now.Sub(r.Since) >= most {
		return nil
	}
	return r.Parts
}

// Left returns the parts that were seen now.
func (r Removed) Left(parts []string) Removed {
	if len(parts) == 0 {
		return Removed{}
	}
	return Removed{Parts: parts, Since: r.Since}
}

// Read returns what is known after the cloud was read. It is not sufficient for a plan while the load balancer changes.
func (c Cloud) Read(found lb.Observed, now time.Time) Cloud {
	complete := found.LoadBalancer == nil || found.LoadBalancer.ProvisioningStatus == lb.Active
	c.Observed, c.Known, c.Confirmed, c.Written = found, complete, complete, now
	return c
}

// Distrust makes the next pass read the cloud before it plans anything. Only Read makes it known again.
func (c *Cloud) Distrust() { c.Known = false }

// Holds reports whether the Service has cloud objects, as far as is known.
func (c Cloud) Holds() bool {
	return len(c.Observed.LoadBalancerIDs()) > 0 || len(c.Observed.FloatingIPs) > 0
}

// Progress is how close the cloud is to the desired state.
type Progress struct {
	// Reached identifies the desired state when the cloud last had all of it. A pass with the same
	// desired state ends before any call: changes by other clients are found by the sweep.
	Reached lb.Fingerprint
	// SteadyFor identifies the desired state when the cloud last had all of it except members.
	SteadyFor lb.Fingerprint
	// Behind is since when the cloud has lacked part of the desired state, or zero.
	Behind time.Time
	// Reason and Trouble are for the Service's condition: why a load balancer is being
	// deleted or replaced. They are empty otherwise.
	Reason, Trouble string
}

// Drift is what other clients changed in the cloud.
type Drift struct {
	// Digest is a hash of what the Service requested when the cloud last had all of it, or "" if
	// it is unknown. Read is whether it was looked for on the Service, where the previous
	// controller may have stored it.
	Digest string
	Read   bool
	// Detected is whether another client made a change since then. Reported is whether the
	// metric has counted it.
	Detected, Reported bool
	// Repaired are the operations that repaired it.
	Repaired []string
}

// Recovery counts the attempts to replace load balancers that failed or that Octavia could not
// change. It is empty after a restart of the controller.
type Recovery struct {
	// Deletions counts deletions since a load balancer of the Service last served. Discards
	// counts deletions of load balancers that were replaced.
	Deletions, Discards timing.Tries
	// Replacements counts the attempts to replace failed load balancers since a load balancer last served, including
	// deletions that failed. Built are the ids of the load balancers that were created last. RequestID is the request
	// id of the last attempt.
	Replacements timing.Tries
	Built        []string
	RequestID    string
	// FailedOver is the load balancer for which a failover was requested. FailoverRefused is
	// the error if Octavia rejected it. Failovers counts the requests.
	FailedOver, FailoverRefused string
	Failovers                   timing.Tries
	// LastingFor identifies the desired state whose replacements failed several times in a row, so that attempts are
	// rare. Another desired state is tried at once.
	LastingFor lb.Fingerprint
	// Changes counts the load balancers that were created because Octavia cannot change the
	// existing one into what ChangeTo identifies.
	Changes  timing.Tries
	ChangeTo lb.Fingerprint
	// RejectedCreates counts the creates that the cloud rejected in a row because of the request. Until the next try is
	// due, another Service of the group creates the load balancer.
	RejectedCreates timing.Tries
	// HandedOver is when the load balancer took over the address of the one that it replaces,
	// or zero. The old one stays for a while.
	HandedOver time.Time
}

// Rejected is a floating IP that the cloud did not attach.
type Rejected struct {
	lb.Rejection
	// Address is that of the floating IP.
	Address string
	// Reason is what the cloud said, without the parts that differ from call to call.
	Reason string
	// Tries counts the attempts. To try again may interrupt the traffic to the present address.
	Tries timing.Tries
}

// Unfinished is about children of an ACTIVE load balancer that are not ACTIVE.
type Unfinished struct {
	// Since is when they were first seen, or zero. IDs are their ids.
	Since time.Time
	IDs   []string
	// LeftBehind is whether Octavia left them unfinished permanently. Repairs counts how often in a row it did that.
	LeftBehind bool
	Repairs    int
}

// Failed is about children of an ACTIVE load balancer that are in ERROR. It is empty after a restart of the controller.
type Failed struct {
	// Text is for the Service's condition: it names these children, and says what may not be in force. It stays until
	// all children were seen ACTIVE.
	Text string
	// Repeats counts how often in a row each change was repeated, by the keys of diff.Failed. The map is replaced,
	// never changed in place.
	Repeats map[string]timing.Tries
}

// Again returns the failures after another attempt at the change with the key.
func (f Failed) Again(key string, now time.Time, b timing.Backoff) Failed {
	repeats := maps.Clone(f.Repeats)
	if repeats == nil {
		repeats = map[string]timing.Tries{}
	}
	repeats[key] = repeats[key].Again(now, b)
	f.Repeats = repeats
	return f
}

// Serves returns the record with earlier failures forgotten, because the load balancer serves.
func (r Record) Serves() Record {
	r.Recovery = Recovery{Discards: r.Recovery.Discards, Changes: r.Recovery.Changes, ChangeTo: r.Recovery.ChangeTo, HandedOver: r.Recovery.HandedOver}
	r.Unfinished.Repairs, r.Unfinished.LeftBehind, r.Failed = 0, false, Failed{}
	r.Progress.Reason, r.Progress.Trouble = "", ""
	return r
}

// distrust makes the next pass read the cloud.
func (r *Record) distrust() {
	r.Cloud.Distrust()
	r.Progress.Reached = lb.Fingerprint{}
}

// noteDrift notes that another client changed the cloud.
func (r *Record) noteDrift() {
	r.Progress.Reached, r.Drift.Detected, r.Drift.Reported = lb.Fingerprint{}, true, false
}
