// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// annotations returns the tables of annotations for the page, grouped by their effect.
func annotations() (any, error) {
	set := newTable("annotation", "value", "default", "meaning", "a change takes effect")
	written := newTable("annotation", "value", "meaning")
	for _, a := range annotation.Table {
		switch {
		case a.Output:
			written.row(code(a.Key), a.Values, a.Doc)
		default:
			set.row(code(a.Key), a.Values, a.Default, strings.TrimSpace(a.Doc+" "+needs(a)), string(cmp.Or(a.Change, annotation.AtOnce)))
		}
	}
	return map[string]any{
		"Prefix": annotation.Prefix, "OwnPrefix": annotation.OwnPrefix, "Set": set, "Written": written, "Internal": annotation.Internal,
		"Protected": protected(), "KeepFloatingIP": annotation.KeepFloatingIP, "Class": annotation.ClassKey, "Condition": status.AnnotationsKnown,
	}, nil
}

// protected lists the annotations for which a Service with a misspelt key is refused, by what they
// protect.
func protected() fmt.Stringer {
	list := newTable("it protects", "annotations")
	for _, p := range []struct {
		of   annotation.Protection
		text string
	}{
		{annotation.RestrictsAccess, "who may connect, in which networks the addresses are, and whether clients need TLS or can forge their address"},
		{annotation.Keeps, "addresses and changes that would be lost"},
		{annotation.ChoosesBalancer, "which load balancer is shared"},
	} {
		var keys []string
		for _, a := range annotation.Table {
			if a.Protects == p.of {
				keys = append(keys, code(a.Key))
			}
		}
		list.row(p.text, strings.Join(keys, ", "))
	}
	return list
}

// everyOctavia removes version 2.0 from a requirement, because every Octavia has it.
var everyOctavia = strings.NewReplacer("Octavia API version 2.0 and ", "", "Octavia API version 2.0 (", "Octavia API version ", "provider ovn)", "provider ovn")

// needs returns what an annotation requires of the cloud, and what happens without it.
func needs(a annotation.Annotation) string {
	var features []string
	for _, f := range a.Needs {
		features = append(features, everyOctavia.Replace(f.Needs()))
	}
	if len(features) == 0 {
		return ""
	}
	without := "otherwise the Service is refused"
	if a.WithoutIt {
		without = "otherwise the Service is served without it, and condition Accepted says so"
	}
	return "Needs " + strings.Join(features, ", and ") + "; " + without + "."
}

// section is a section of cloud.conf with the table of its keys, or a sentence that lists them.
type section struct {
	config.Section
	Keys fmt.Stringer
}

// sameKeys is the sentence about the keys of a class, all of which are keys of [LoadBalancer].
type sameKeys []string

func (s sameKeys) String() string {
	return "The keys, with the kinds and meanings that they have in [LoadBalancer]:\n\n" + strings.Join(s, ",\n") + "."
}

// cloudConf returns the tables of keys for the page, one for each section.
func cloudConf() (any, error) {
	var sections []section
	for _, s := range config.Sections() {
		keys := newTable("key", "kind", "default", "meaning", "use")
		var names sameKeys
		for _, key := range config.Keys() {
			if key.Section == s.Name {
				use := string(key.Use)
				if key.Live {
					use += ", reloaded"
				}
				keys.row(code(key.Name), string(key.Kind), code(key.Default), strings.TrimSpace(key.Doc+" "+key.Instead), use)
				names = append(names, code(key.Name))
			}
		}
		if s.Name == "LoadBalancerClass" {
			sections = append(sections, section{s, names})
			continue
		}
		sections = append(sections, section{s, keys})
	}
	return map[string]any{"Methods": config.Methods, "Sections": sections}, nil
}

// command is a command with its output for --help.
type command struct{ Name, Help string }

// documented describes the machine-readable output of a command.
type documented struct {
	cli.Output
	// Items are what the list contains.
	Items string
}

// itemsOf describes the items of each command's list.
var itemsOf = map[string]string{
	"cleanup": "cloud objects", "doctor": "checks, with their findings", "migrate": "Services", "plan": "Services, with their operations",
	"status": "Services, with their load balancers", "version": "none",
}

// outputs returns the machine-readable outputs of the commands.
func outputs() (all []documented) {
	for _, o := range cli.Outputs() {
		all = append(all, documented{o, itemsOf[o.Command]})
	}
	return all
}

// commandLine returns the help of the commands for the page.
func commandLine() (any, error) {
	var commands []command
	for _, name := range []string{"", "cleanup", "controller", "credential", "credential create", "credential rotate", "credential delete", "doctor", "migrate", "plan", "status", "ui", "version"} {
		args := append(strings.Fields(name), "--help")
		var out bytes.Buffer
		if status := cli.Run(context.Background(), args, cli.IO{Out: &out, Err: &out}, cli.Options{}); status != 0 {
			return nil, fmt.Errorf("kube-octavia %s: exit status %d: %s", strings.Join(args, " "), status, out.String())
		}
		commands = append(commands, command{strings.TrimSpace("kube-octavia " + name), out.String()})
	}
	return map[string]any{"Commands": commands, "Outputs": outputs()}, nil
}
