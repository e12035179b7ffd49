// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package memory holds what the controller remembers of each Service between passes, so
// that a pass need not read what the one before it wrote. Nothing is kept on disk.
//
// It may import diff, build, octavia and timing, and what these import.
package memory

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Record is what is remembered of one Service. It is plain data.
type Record struct {
	ServiceUID types.UID
	Cloud      Cloud
	Progress   Progress
	Drift      Drift
	Recovery   Recovery
	Unfinished Unfinished
	// QuotaRefusals is how often in a row the quota left no room for the Service.
	QuotaRefusals int
	// Certificate is that of the Secret which the Service names, as it was last read.
	Certificate build.SecretCertificate
}

// Cloud is what the cloud has of the Service. Reads and writes of the cloud change it.
type Cloud struct {
	Observed lb.Observed
	// Known is whether Observed can be planned on; otherwise it is read first.
	Known bool
	// Confirmed is whether Observed was read since the last write, rather than predicted.
	Confirmed bool
	// Stale is whether another client may have changed a setting of it unseen: it was
	// written since all of it was last read, and its status tree has no settings, while
	// updated_at does not say whose change it was; or it was read in the second in which
	// it changed.
	Stale bool
	// Written is when Observed was last changed.
	Written time.Time
	// Others are load balancers that bear the Service's mark, and to which neither its
	// name nor the id noted on it leads.
	Others []string
	// Believed is what the load balancer was thought to be before it was read again, or
	// nil. What is different then was changed by another client.
	Believed *lb.Observed
	// Unanswered is when a create failed that Octavia may still carry out, or zero: what
	// it makes may show only later.
	Unanswered time.Time
	// MadeComplete is the id of the load balancer if one call of ours made it with
	// everything below it.
	MadeComplete string
	// CreateAlone is whether a load balancer that is yet to be created is created without
	// its parts, since Octavia refused it with them.
	CreateAlone bool
	// FreesQuota is whether what Octavia is at work on leaves room for other Services.
	FreesQuota bool
}

// Holds reports whether the Service has anything in the cloud, as far as is known.
func (c Cloud) Holds() bool {
	o := c.Observed
	return o.LoadBalancer != nil || o.Predecessor != nil || len(o.FloatingIPs) > 0 || len(o.Unsettled) > 0 || len(o.Duplicates) > 0
}

// Progress is how far the cloud has come to what is wanted.
type Progress struct {
	// Reached is what was wanted when nothing was left to do, and nil before. Together
	// with the sweep, which finds what other clients change, it lets a pass end before
	// any call.
	Reached *lb.Wanted
	// SteadyFor is what was wanted when nothing but members was left to do.
	SteadyFor *lb.Wanted
	// Behind is since when the cloud has not had all that was wanted, or zero.
	Behind time.Time
	// Reason and Trouble say, for the Service's condition, what went wrong with a load
	// balancer that is now being deleted or built anew, or are empty.
	Reason, Trouble string
}

// Drift is what other clients changed in the cloud.
type Drift struct {
	// Digest stands for what the Service asked for when the cloud last had all of it; ""
	// when that is not known. Read is whether it was looked for on the Service, where the
	// controller before this one may have left it.
	Digest string
	Read   bool
	// Detected is whether another client changed something since, and Reported whether
	// that was counted.
	Detected, Reported bool
	// Repaired are the ops that made up for it.
	Repaired []string
}

// Recovery is what was done about load balancers that failed, or that Octavia could not
// change. Another controller begins anew.
type Recovery struct {
	// Deletions counts deletions since a load balancer of the Service last served, and
	// Discards those of load balancers that another one has replaced.
	Deletions, Discards timing.Tries
	// Replacements counts the load balancers that were built in the place of one that
	// failed since one last served, Built are their ids, and RequestID is the request of
	// the last attempt.
	Replacements timing.Tries
	Built        []string
	RequestID    string
	// FailedOver is the load balancer that Octavia was asked to fail over, and
	// FailoverRefused what the cloud said against that.
	FailedOver, FailoverRefused string
	// GaveUp is what was wanted when enough was tried, or nil.
	GaveUp *lb.Wanted
	// Changes counts the load balancers that were built to take the place of one that
	// Octavia cannot make into ChangeTo.
	Changes  timing.Tries
	ChangeTo lb.Wanted
	// HandedOver is since when a load balancer has the address of the one that it
	// replaces, which stays for a while only; or zero.
	HandedOver time.Time
}

// Unfinished is what is known of parts of an ACTIVE load balancer that are not ACTIVE.
type Unfinished struct {
	// Since is when they were first seen, and IDs which these were; zero when there are
	// none.
	Since time.Time
	IDs   []string
	// LeftBehind is whether Octavia has left them so for good, and Repairs how often in a
	// row it has.
	LeftBehind bool
	Repairs    int
}

// Serves notes that the load balancer serves, whatever it went through before.
func (r Record) Serves() Record {
	r.Recovery = Recovery{Discards: r.Recovery.Discards, Changes: r.Recovery.Changes, ChangeTo: r.Recovery.ChangeTo, HandedOver: r.Recovery.HandedOver}
	r.Unfinished.Repairs, r.Unfinished.LeftBehind = 0, false
	r.Progress.Reason, r.Progress.Trouble = "", ""
	return r
}
