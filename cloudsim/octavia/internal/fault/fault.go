// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"fmt"
	"net/http"
)

// Fault is an error answer with Octavia's message.
type Fault struct {
	Status int
	Text   string
	// Outside means that Octavia refuses the request before its API framework handles it. Then the
	// answer has another form.
	Outside bool
}

// Error returns the message.
func (f *Fault) Error() string { return f.Text }

// New returns a Fault.
func New(status int, format string, args ...any) *Fault {
	return &Fault{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Outside returns a fault in something that Octavia checks before it determines which call the
// request is: paging, sorting, and the pool or policy in a longer path.
func Outside(status int, format string, args ...any) *Fault {
	f := New(status, format, args...)
	f.Outside = true
	return f
}

// Invalid returns a fault of Octavia's own validation.
func Invalid(format string, args ...any) *Fault {
	return New(http.StatusBadRequest, "Validation failure: "+format, args...)
}

// InvalidOption returns the fault of an invalid value of an option.
func InvalidOption(value, option string) *Fault {
	return New(http.StatusBadRequest, "%s is not a valid option for %s", value, option)
}

// BadSubresource returns the fault of a reference to a Neutron object that does not exist.
func BadSubresource(resource, id string) *Fault {
	return New(http.StatusBadRequest, "%s %s not found.", resource, id)
}

// NotFound returns the fault of a resource that does not exist for the caller.
func NotFound(resource, id string) *Fault {
	return New(http.StatusNotFound, "%s %s not found.", resource, cmp.Or(id, "None"))
}

// Immutable returns the fault of a change to a resource that is being changed.
func Immutable(resource, id string) *Fault {
	return New(http.StatusConflict, "%s %s is immutable and cannot be updated.", resource, id)
}

// OverQuota returns the fault of a request that exceeds the quota of a resource.
func OverQuota(resource string) *Fault {
	return New(http.StatusForbidden, "Quota has been met for resources: %s", resource)
}

// Unsupported returns the fault of an option that a provider does not support.
func Unsupported(provider, format string, args ...any) *Fault {
	return New(http.StatusNotImplemented, "Provider '%s' does not support a requested option: %s", provider, fmt.Sprintf(format, args...))
}

// The faults with a fixed message.
var (
	ErrForbidden = New(http.StatusForbidden, "Policy does not allow this request to be performed.")
	ErrFilter    = New(http.StatusBadRequest, "One or more arguments are either duplicate or invalid")
	// Octavia passes repeated filters to the database unchanged.
	ErrRepeated   = New(http.StatusInternalServerError, "(MySQLdb._exceptions.OperationalError) (4078, \"Illegal parameter data types varchar and row for operation '='\")")
	ErrNoChildren = New(http.StatusBadRequest, "Protocol PROMETHEUS listeners cannot have child objects.")
	// Octavia compares the delay in an update of a UDP-CONNECT monitor even if the update has none.
	ErrNoDelay       = New(http.StatusInternalServerError, "'<' not supported between instances of 'UnsetType' and 'int'")
	ErrSecondMonitor = New(http.StatusConflict, "This pool already has a health monitor")
	ErrDuplicateID   = New(http.StatusConflict, "Already an entity with that specified id.")
	ErrNotJSON       = New(http.StatusBadRequest, "Request is not in valid JSON format")
	ErrSharedPort    = New(http.StatusInternalServerError, "'NoneType' object has no attribute 'ip_address'")
	ErrNestedCreate  = New(http.StatusInternalServerError, "'dict' object has no attribute '_sa_instance_state'")
)
