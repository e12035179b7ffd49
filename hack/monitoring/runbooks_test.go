// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// commands returns the commands in the runbooks that begin with this word.
func commands(t *testing.T, program string) []string {
	t.Helper()
	pages, err := filepath.Glob(filepath.Join(root, "docs/runbooks/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		// In code blocks and in inline code.
		for _, pattern := range []string{`(?m)^ {4,}(` + program + ` .*)$`, "`(" + program + " [^`]*)`"} {
			for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
				if !slices.Contains(all, m[1]) {
					all = append(all, m[1])
				}
			}
		}
	}
	if len(all) < 5 {
		t.Fatalf("there are only the commands %q", all)
	}
	return all
}

// TestKubectlCommandsOfRunbooksWork runs the commands. An object that does not exist is not an
// error.
func TestKubectlCommandsOfRunbooksWork(t *testing.T) {
	cluster, client, namespace, bin := kubetest.Cluster(t), kubetest.Client(t), kubetest.Namespace(t), t.TempDir()
	if err := cluster.Kubeconfig(filepath.Join(bin, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(cluster.Kubectl(), filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	web := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	if _, err := client.CoreV1().Services(namespace).Create(t.Context(), web, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, command := range commands(t, "kubectl") {
		t.Run(command, func(t *testing.T) {
			line := command
			for placeholder, name := range map[string]string{"NS": namespace, "NAME": "web"} {
				line = regexp.MustCompile(`( )`+placeholder+`( |$)`).ReplaceAllString(line, "${1}"+name+"${2}")
			}
			sh := exec.CommandContext(t.Context(), "sh", "-c", line)
			sh.Dir, sh.Env = t.TempDir(), append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+filepath.Join(bin, "kubeconfig"))
			var out, errs bytes.Buffer
			sh.Stdout, sh.Stderr = &out, &errs
			err := sh.Run()
			answer := strings.Contains(errs.String(), "not found") || out.String() == "no\n" // of can-i
			if err != nil && !answer || strings.Contains(errs.String(), "unknown") {
				t.Errorf("%s: %v\n%s", line, err, &errs)
			}
		})
	}
}

func TestCommandsOfKubeOctaviaInRunbooksExist(t *testing.T) {
	checks := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\|").FindAllStringSubmatch(file(t, "docs/how-to.md"), -1) {
		checks[m[1]] = true
	}
	for _, command := range commands(t, "kube-octavia") {
		t.Run(command, func(t *testing.T) {
			args := strings.Fields(command)[1:]
			var out, errs bytes.Buffer
			if status := cli.Run(t.Context(), append(args, "--help"), cli.IO{Out: &out, Err: &errs}, cli.Options{Version: "test"}); status != 0 {
				t.Errorf("%s", &errs)
			}
			for _, arg := range args {
				if names, is := strings.CutPrefix(arg, "--checks="); is {
					for name := range strings.SplitSeq(names, ",") {
						if !checks[name] {
							t.Errorf("there is no check %s", name)
						}
					}
				}
			}
		})
	}
}

// TestCommandsOfTheOpenStackClientInRunbooksExist compares the commands with those of the client.
func TestCommandsOfTheOpenStackClientInRunbooksExist(t *testing.T) {
	client, err := exec.LookPath("openstack")
	if err != nil {
		t.Skip("the openstack client is not installed; on Debian: apt-get install python3-openstackclient python3-octaviaclient")
	}
	completion, err := exec.CommandContext(t.Context(), client, "complete").Output()
	if err != nil {
		t.Fatal(err)
	}
	// Lines such as: cmds_loadbalancer_quota='defaults list show'.
	next := map[string][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\s*cmds_?(\w*)='([^']*)'`).FindAllStringSubmatch(string(completion), -1) {
		next[m[1]] = append(next[m[1]], strings.Fields(m[2])...)
	}
	for _, command := range commands(t, "openstack") {
		t.Run(command, func(t *testing.T) {
			path, complete, unknown := "", false, ""
			for _, word := range strings.Fields(command)[1:] {
				option := strings.HasPrefix(word, "--")
				switch {
				case option && path == "": // of all commands
				case slices.Contains(next[path], word) && !option:
					path = strings.TrimPrefix(path+"_"+word, "_")
					complete = slices.Contains(next[path], "--help")
				case option && !slices.Contains(next[path], word):
					unknown = word
				}
			}
			if !complete || unknown != "" {
				t.Errorf("the client does not know %s %s", command, unknown)
			}
		})
	}
}
