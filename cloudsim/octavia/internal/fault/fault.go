// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"cmp"
	"fmt"
	"net/http"
)

// Fault is a refusal as Octavia words it.
type Fault struct {
	Status int
	Text   string
	// Outside says that Octavia refuses before its API framework has taken the
	// request: it then answers with another document.
	Outside bool
}

// Error is the text.
func (f *Fault) Error() string { return f.Text }

// New words a refusal.
func New(status int, format string, args ...any) *Fault {
	return &Fault{Status: status, Text: fmt.Sprintf(format, args...)}
}

// Outside is a refusal of what Octavia looks at before it has found out
// which call it is: paging, sorting, and the pool or policy in a longer path.
func Outside(status int, format string, args ...any) *Fault {
	f := New(status, format, args...)
	f.Outside = true
	return f
}

// Invalid refuses what Octavia's own checks find.
func Invalid(format string, args ...any) *Fault {
	return New(http.StatusBadRequest, "Validation failure: "+format, args...)
}

// InvalidOption refuses the value of an option.
func InvalidOption(value, option string) *Fault {
	return New(http.StatusBadRequest, "%s is not a valid option for %s", value, option)
}

// BadSubresource refuses a Neutron object that is named but not there.
func BadSubresource(resource, id string) *Fault {
	return New(http.StatusBadRequest, "%s %s not found.", resource, id)
}

// NotFound refuses a resource that is not there for the caller.
func NotFound(resource, id string) *Fault {
	return New(http.StatusNotFound, "%s %s not found.", resource, cmp.Or(id, "None"))
}

// Immutable refuses to change a resource that is being changed.
func Immutable(resource, id string) *Fault {
	return New(http.StatusConflict, "%s %s is immutable and cannot be updated.", resource, id)
}

// OverQuota refuses more of a resource than the quota allows.
func OverQuota(resource string) *Fault {
	return New(http.StatusForbidden, "Quota has been met for resources: %s", resource)
}

// Unsupported refuses what a provider does not have.
func Unsupported(provider, format string, args ...any) *Fault {
	return New(http.StatusNotImplemented, "Provider '%s' does not support a requested option: %s", provider, fmt.Sprintf(format, args...))
}

// The refusals that say the same of everything.
var (
	ErrForbidden = New(http.StatusForbidden, "Policy does not allow this request to be performed.")
	ErrFilter    = New(http.StatusBadRequest, "One or more arguments are either duplicate or invalid")
	// Octavia hands repeated filters to the database as they are.
	ErrRepeated   = New(http.StatusInternalServerError, "(MySQLdb._exceptions.OperationalError) (4078, \"Illegal parameter data types varchar and row for operation '='\")")
	ErrNoChildren = New(http.StatusBadRequest, "Protocol PROMETHEUS listeners cannot have child objects.")
	// Octavia compares the delay that an update of a UDP-CONNECT monitor names, also
	// when it names none.
	ErrNoDelay       = New(http.StatusInternalServerError, "'<' not supported between instances of 'UnsetType' and 'int'")
	ErrSecondMonitor = New(http.StatusConflict, "This pool already has a health monitor")
	ErrDuplicateID   = New(http.StatusConflict, "Already an entity with that specified id.")
	ErrNotJSON       = New(http.StatusBadRequest, "Request is not in valid JSON format")
	ErrSharedPort    = New(http.StatusInternalServerError, "'NoneType' object has no attribute 'ip_address'")
	ErrNestedCreate  = New(http.StatusInternalServerError, "'dict' object has no attribute '_sa_instance_state'")
)
