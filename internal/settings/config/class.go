// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"maps"
	"slices"
)

// Of returns the settings for the Services of a class; the empty name means no class. It returns false if the class
// does not exist.
func (l LoadBalancer) Of(class string) (LoadBalancer, bool) {
	of, there := l, true
	if class != "" {
		of, there = l.Classes[class]
	}
	return l.AtClusterIP.over(of), there
}

// ClassNames returns the names of all classes, sorted.
func (l LoadBalancer) ClassNames() []string {
	return slices.Sorted(maps.Keys(l.Classes))
}

// readClasses merges the settings of each class into those of [LoadBalancer], regardless of their order in the
// file.
func (f *file) readClasses() {
	base := f.config.LoadBalancer
	classes := map[string]LoadBalancer{}
	set := map[string]map[string]bool{} // class -> its keys with a value
	for _, s := range f.classes {
		if _, there := classes[s.Name]; !there {
			classes[s.Name], set[s.Name] = base, map[string]bool{}
		}
		if s.Key == "" {
			continue
		}
		before := f.config.LoadBalancer
		f.config.LoadBalancer = classes[s.Name]
		f.readKey(Section{Name: classSection}, s)
		if key, known := findKey(classSection, s.Key); known && s.Value != "" {
			set[s.Name][key.Name] = true
		}
		classes[s.Name], f.config.LoadBalancer = f.config.LoadBalancer, before
	}
	for name, class := range classes {
		class.chooseNetworks(set[name])
		classes[name] = class
	}
	if len(classes) > 0 {
		f.config.LoadBalancer.Classes = classes
	}
}

// chooseNetworks removes from a class the settings of [LoadBalancer] about networks other than those of the
// class.
func (l *LoadBalancer) chooseNetworks(set map[string]bool) {
	if set["network-id"] && !set["subnet-id"] {
		l.SubnetID = ""
	}
	if set["subnet-id"] && !set["network-id"] {
		l.NetworkID = ""
	}
	if (set["network-id"] || set["subnet-id"]) && !set["additional-subnet-id"] {
		l.AdditionalSubnetID = ""
	}
	if !set["floating-network-id"] && !set["floating-subnet-id"] && !set["floating-subnet"] && !set["floating-subnet-tags"] {
		return
	}
	if !set["floating-subnet-id"] {
		l.FloatingSubnetID = ""
	}
	if !set["floating-subnet"] {
		l.FloatingSubnets.Name = ""
	}
	if !set["floating-subnet-tags"] {
		l.FloatingSubnets.Tags = ""
	}
}
