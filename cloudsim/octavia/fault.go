// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"fmt"
	"net/http"
)

// fault is a refusal as Octavia words it.
type fault struct {
	status int
	text   string
	// outside says that Octavia refuses before its API framework has taken the
	// request: it then answers with another document.
	outside bool
}

func (f *fault) Error() string { return f.text }

func faultf(status int, format string, args ...any) *fault {
	return &fault{status: status, text: fmt.Sprintf(format, args...)}
}

// outsideFault is a refusal of what Octavia looks at before it has found out
// which call it is: paging, sorting, and the pool or policy in a longer path.
func outsideFault(status int, format string, args ...any) *fault {
	f := faultf(status, format, args...)
	f.outside = true
	return f
}

func invalid(format string, args ...any) *fault {
	return faultf(http.StatusBadRequest, "Validation failure: "+format, args...)
}

func invalidOption(value, option string) *fault {
	return faultf(http.StatusBadRequest, "%s is not a valid option for %s", value, option)
}

// badSubresource refuses a Neutron object that is named but not there.
func badSubresource(resource, id string) *fault {
	return faultf(http.StatusBadRequest, "%s %s not found.", resource, id)
}

func notFound(resource, id string) *fault {
	return faultf(http.StatusNotFound, "%s %s not found.", resource, cmp.Or(id, "None"))
}

func immutable(resource, id string) *fault {
	return faultf(http.StatusConflict, "%s %s is immutable and cannot be updated.", resource, id)
}

func overQuota(resource string) *fault {
	return faultf(http.StatusForbidden, "Quota has been met for resources: %s", resource)
}

func unsupported(provider, format string, args ...any) *fault {
	return faultf(http.StatusNotImplemented, "Provider '%s' does not support a requested option: %s", provider, fmt.Sprintf(format, args...))
}

var (
	errForbidden = faultf(http.StatusForbidden, "Policy does not allow this request to be performed.")
	errFilter    = faultf(http.StatusBadRequest, "One or more arguments are either duplicate or invalid")
	// Octavia hands repeated filters to the database as they are.
	errRepeated   = faultf(http.StatusInternalServerError, "(MySQLdb._exceptions.OperationalError) (4078, \"Illegal parameter data types varchar and row for operation '='\")")
	errNoChildren = faultf(http.StatusBadRequest, "Protocol PROMETHEUS listeners cannot have child objects.")
	// Octavia compares the delay that an update of a UDP-CONNECT monitor names, also
	// when it names none.
	errNoDelay       = faultf(http.StatusInternalServerError, "'<' not supported between instances of 'UnsetType' and 'int'")
	errSecondMonitor = faultf(http.StatusConflict, "This pool already has a health monitor")
	errDuplicateID   = faultf(http.StatusConflict, "Already an entity with that specified id.")
	errNotJSON       = faultf(http.StatusBadRequest, "Request is not in valid JSON format")
	errNestedCreate  = faultf(http.StatusInternalServerError, "'dict' object has no attribute '_sa_instance_state'")
)
