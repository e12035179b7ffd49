// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"encoding/json"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Plain is like Python, but without the quotes of a string.
func Plain(x any) string {
	if s, ok := x.(string); ok {
		return s
	}
	return wire.Python(x)
}

// PythonType returns what Python calls the type of a JSON value.
func PythonType(x any) string {
	switch x.(type) {
	case nil:
		return "NoneType"
	case bool:
		return "bool"
	case json.Number:
		return "int"
	case string:
		return "str"
	}
	return "list"
}
