// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

// Action is what to do about a Service's load balancer.
type Action string

const (
	// Converge creates, changes and repairs until the cloud has the desired state.
	Converge Action = "converge"
	// Release deletes everything that the Service has in the cloud.
	Release Action = "release"
	// Stopped lets only members follow the nodes, because another controller keeps undoing the work.
	Stopped Action = "stopped"
	// AwaitChildren gives unfinished children of the load balancer time to become ACTIVE.
	AwaitChildren Action = "await children"

	// If Octavia cannot change the load balancer as requested:

	// Refuse: the load balancer must not or cannot be replaced.
	Refuse Action = "refuse"
	// Replace: create a replacement, while the load balancer serves.
	Replace Action = "replace"
	// CompleteReplacement: complete the replacement, then move the address to it.
	CompleteReplacement Action = "complete replacement"
	// CancelReplacement: keep the predecessor, which has the address, and delete the
	// replacement.
	CancelReplacement Action = "cancel replacement"
	// PostponeReplacement: do not replace it before it has taken the place of its predecessor.
	PostponeReplacement Action = "postpone replacement"

	// If the load balancer is in ERROR and never served:

	// Rebuild: delete it and create it again.
	Rebuild Action = "rebuild"
	// AwaitRebuild: wait before that.
	AwaitRebuild Action = "await rebuild"

	// If the load balancer served and is in ERROR:

	// LeaveFailed: do nothing, because nothing is allowed or possible.
	LeaveFailed Action = "leave failed"
	// FailOver: let Octavia fail it over.
	FailOver Action = "fail over"
	// AwaitRecovery: wait before the next attempt. If several attempts in a row have failed, the wait is long, because
	// the cause is elsewhere. But the attempts never end: otherwise an operator would have to change each Service when
	// the cloud works again.
	AwaitRecovery Action = "await recovery"
	// ReplaceFailed: create a replacement, which takes over the floating IP. The failed load
	// balancer stays until then: it may still carry traffic.
	ReplaceFailed Action = "replace failed"
	// ReplaceInPlace: delete it, and create a replacement with its VIP address.
	ReplaceInPlace Action = "replace in place"
)

// replacementFacts is what the replacement of a load balancer that is not in ERROR depends on.
type replacementFacts struct {
	// fits reports whether Octavia can change the load balancer to what the Service requests,
	// and allowed whether the Service allows a replacement.
	fits, allowed bool
	// obstacle says why the load balancer with the address cannot be replaced, or is empty.
	obstacle string
	// replacing reports whether this load balancer is a replacement and the predecessor still has the address and
	// works; predecessorFits is the same as fits, for the predecessor.
	replacing, predecessorFits bool
	// hasPredecessor reports whether this load balancer still has to take the place of another one.
	hasPredecessor bool
}

func (r replacementFacts) action() Action {
	switch {
	case r.replacing && r.fits && !r.predecessorFits && r.allowed && r.obstacle == "":
		return CompleteReplacement
	case r.replacing:
		return CancelReplacement
	case r.fits:
		return Converge
	case r.hasPredecessor:
		return PostponeReplacement
	case !r.allowed || r.obstacle != "":
		return Refuse
	}
	return Replace
}

// quickReplacements is how many replacements for a failed load balancer are created in a row at short intervals. If
// none of them serves, the cause is elsewhere, and further attempts are rare.
const quickReplacements = 3

// recoveryFacts is what the recovery depends on, for a load balancer that served and is in ERROR.
type recoveryFacts struct {
	// canFailOver reports whether a failover is possible, and failedOver whether it was tried.
	canFailOver, failedOver bool
	// replaceable reports whether the load balancer may be deleted and a replacement can be
	// created.
	replaceable bool
	// movable reports whether the address can move to another load balancer.
	movable bool
	// waits reports whether it is too early for the next replacement or, if only a failover is possible, for another
	// failover.
	waits bool
}

func (r recoveryFacts) action() Action {
	switch {
	case r.canFailOver && !r.failedOver:
		return FailOver
	case !r.canFailOver && !r.replaceable:
		return LeaveFailed
	case r.waits:
		return AwaitRecovery
	case !r.replaceable:
		return FailOver
	case r.movable:
		return ReplaceFailed
	}
	return ReplaceInPlace
}
