// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

// Action is what is done about a Service's load balancer.
type Action string

const (
	// Follow brings the cloud to what is wanted: it creates, changes and repairs.
	Follow Action = "follow"
	// Release deletes everything that the Service has.
	Release Action = "release"
	// AwaitParts gives unfinished parts of the load balancer time to become ACTIVE.
	AwaitParts Action = "await parts"

	// Octavia cannot make the load balancer into what the Service asks for:

	// Refuse: it would have to be replaced, and may or can not be.
	Refuse Action = "refuse"
	// Replace: another one is to be built beside it.
	Replace Action = "replace"
	// TakeOver: the other one is completed, gets the address, and stays alone.
	TakeOver Action = "take over"
	// TakeBack: the one that has the address stays after all, and the other one goes.
	TakeBack Action = "take back"
	// FinishFirst: it takes the place of one that failed, and does so as it is.
	FinishFirst Action = "finish first"

	// The load balancer is in ERROR and never served:

	// Rebuild: it is deleted, and another one is built.
	Rebuild Action = "rebuild"
	// AwaitRebuild: it is too early for that.
	AwaitRebuild Action = "await rebuild"

	// The load balancer served and is in ERROR:

	// Leave: nothing that this controller may do.
	Leave Action = "leave"
	// FailOver: Octavia rebuilds it.
	FailOver Action = "fail over"
	// AwaitRecovery: it is too early for the next attempt.
	AwaitRecovery Action = "await recovery"
	// ReplaceFailed: another one is built beside it, since it may still carry traffic, and
	// takes the floating IP over when it is complete.
	ReplaceFailed Action = "replace failed"
	// ReplaceInPlace: it is deleted, and another one gets its VIP address.
	ReplaceInPlace Action = "replace in place"
	// GiveUp: enough was tried, and a person has to look.
	GiveUp Action = "give up"
)

// fit is what it depends on whether a load balancer that works is replaced.
type fit struct {
	// suits is whether the load balancer is what its Service asks for in all that Octavia
	// cannot change, and allowed whether the Service lets it be replaced.
	suits, allowed bool
	// obstacle says why no other one can be built beside the one that has the address.
	obstacle string
	// replaces is whether another one that works has the address, in whose place this one
	// was built, and oldSuits whether that is what the Service asks for.
	replaces, oldSuits bool
	// succeeds is whether it takes the place of one that failed.
	succeeds bool
}

func (f fit) action() Action {
	switch {
	case f.replaces && f.suits && !f.oldSuits && f.allowed && f.obstacle == "":
		return TakeOver
	case f.replaces:
		return TakeBack
	case f.suits:
		return Follow
	case f.succeeds:
		return FinishFirst
	case !f.allowed || f.obstacle != "":
		return Refuse
	}
	return Replace
}

// mostReplacements is how many load balancers in a row may be built in the place of one that
// failed. When none of them comes to serve, the trouble is not the load balancer's, and a
// person has to look.
const mostReplacements = 3

// failure is what it depends on how a load balancer recovers that served and is in ERROR.
type failure struct {
	// canFailOver is whether Octavia may be asked for a failover, and was not yet.
	canFailOver bool
	// replaceable is whether it may be deleted, and it is known what is to come in its
	// place.
	replaceable bool
	// movable is whether the address can move from one to another.
	movable bool
	// attempts were made since a load balancer of the Service last served; it is too
	// early for the next one while waits is set.
	attempts int
	waits    bool
}

func (f failure) action() Action {
	switch {
	case f.canFailOver:
		return FailOver
	case !f.replaceable:
		return Leave
	case f.attempts >= mostReplacements:
		return GiveUp
	case f.waits:
		return AwaitRecovery
	case f.movable:
		return ReplaceFailed
	}
	return ReplaceInPlace
}
