// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/kube-octavia/kube-octavia/test/kube/kubetest"
)

// plugin is a kubectl that finds the program as its plug-in, and a kubeconfig.
type plugin struct {
	*stage
	path, kubeconfig string
}

// plugin installs the program as a plug-in, as krew does: by a link. The context of the kubeconfig names the stage's
// namespace.
func (s *stage) plugin() plugin {
	s.t.Helper()
	program := build(s.t)
	dir := s.t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "kubectl-octavia")); err != nil {
		s.t.Fatal(err)
	}
	config, err := clientcmd.LoadFromFile(s.adminKubeconfig())
	if err != nil {
		s.t.Fatal(err)
	}
	config.Contexts[config.CurrentContext].Namespace = s.namespace
	p := plugin{s, dir, filepath.Join(dir, "kubeconfig")}
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		s.t.Fatal(err)
	}
	return p
}

// kubectl runs `kubectl` with the arguments and returns its exit status and what it wrote.
func (p plugin) kubectl(args ...string) (status int, out, errs string) {
	p.t.Helper()
	command := exec.CommandContext(p.t.Context(), kubetest.Cluster(p.t).Kubectl(), args...)
	command.Env = append(os.Environ(), "PATH="+p.path, "KUBECONFIG="+p.kubeconfig, "HOME="+p.t.TempDir())
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	p.shows("what kubectl prints", &stdout)
	p.shows("what kubectl says", &stderr)
	err := command.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

func TestTheProgramIsAPluginOfKubectl(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.settled([]edit{tcp(8080)})[0]
	p := s.plugin()
	have, named, conf := web.tree(), s.namespace+"/"+web.name, "--cloud-config="+s.cloudConf()
	for _, c := range []struct {
		name string

		args     []string
		status   int
		out, err string
	}{
		{"kubectl lists the plug-in", []string{"plugin", "list"}, 0, filepath.Join(p.path, "kubectl-octavia"), ""},
		{"status of all Services", []string{"octavia", "status", conf}, 0, have.ID, ""},
		{"status as a tree", []string{"octavia", "status", conf, "-n", s.namespace, "-o", "tree"}, 0, named + " Programmed=True", ""},
		{"status of a Service in the namespace of the context", []string{"octavia", "status", conf, web.name}, 0, have.ID, ""},
		{"status of a Service that does not exist", []string{"octavia", "status", conf, "nope"}, 1, "", "kubectl octavia: Service " + s.namespace + "/nope does not exist; without --namespace, the command looks in namespace " + s.namespace},
		{"plan of a Service by name", []string{"octavia", "plan", conf, web.name}, 0, named + ": load balancer " + have.ID + ", ACTIVE", ""},
		{"plan of a Service by namespace and name", []string{"octavia", "plan", conf, named}, 0, named + ": load balancer " + have.ID + ", ACTIVE", ""},
		{"help of status", []string{"octavia", "status", "--help"}, 0, "kubectl octavia status [SERVICE...] [flags]", ""},
		{"help of the program", []string{"octavia", "--help"}, 0, "kubectl octavia [command] --help", ""},
		{"unknown flag", []string{"octavia", "plan", "--frobnicate"}, 1, "", "kubectl octavia: unknown flag: --frobnicate; see `kubectl octavia plan --help`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.reportTo(t)
			status, out, errs := p.kubectl(c.args...)
			if status != c.status || !strings.Contains(out, c.out) || !strings.Contains(errs, c.err) || c.err == "" && errs != "" {
				t.Errorf("kubectl %v: status %d, printed:\n%s\nsaid %q; want %d, %q, %q", c.args, status, out, errs, c.status, c.out, c.err)
			}
		})
	}
}
