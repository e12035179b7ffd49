// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nova

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// sortable are the keys that servers can be sorted by.
var sortable = []string{
	"access_ip_v4", "access_ip_v6", "auto_disk_config", "availability_zone", "config_drive", "created_at", "display_description", "display_name",
	"host", "hostname", "image_ref", "instance_type_id", "kernel_id", "key_name", "launch_index", "launched_at", "locked_by", "node", "power_state",
	"progress", "project_id", "ramdisk_id", "root_device_name", "task_state", "terminated_at", "updated_at", "user_id", "uuid", "vm_state",
	"architecture", "cell_name", "cleaned", "default_ephemeral_device", "default_swap_device", "deleted", "deleted_at", "disable_terminate",
	"ephemeral_gb", "ephemeral_key_uuid", "id", "key_data", "launched_on", "locked", "memory_mb", "os_type", "reservation_id", "root_gb",
	"shutdown_terminate", "user_data", "vcpus", "vm_mode",
}

var wholeNumber = regexp.MustCompile(`^[0-9]*$`)

// checkQuery refuses a list's query with invalid values.
func checkQuery(query url.Values) *problem {
	for _, key := range []string{"name", "ip", "ip6"} {
		if _, err := regexp.Compile(query.Get(key)); err != nil {
			return badQuery(key, query.Get(key), "is not a 'regex'")
		}
	}
	if limit := query.Get("limit"); !wholeNumber.MatchString(limit) {
		return badQuery("limit", limit, "does not match '^[0-9]*$'")
	}
	for _, key := range query["sort_key"] {
		if !slices.Contains(sortable, key) {
			return badQuery("sort_key", key, "is not one of ['"+strings.Join(sortable, "', '")+"']")
		}
	}
	return nil
}

func badQuery(key, value, reason string) *problem {
	return badRequest("Invalid input for query parameters " + key + ". Value: " + value + ". '" + value + "' " + reason)
}

// isTrue reads a flag in a query as Nova does.
func isTrue(text string) bool {
	return slices.Contains([]string{"1", "t", "true", "on", "y", "yes"}, strings.ToLower(text))
}
