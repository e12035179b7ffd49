// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// try is something that the user can do next.
type try struct {
	// what describes what it shows.
	what     string
	commands []string
	// shows is expected in the output of the last command.
	shows string
	// finds means that exit status 1 is a result, too: something was found.
	finds bool
}

// podAnswers is the beginning of each answer of the application's Pods.
const podAnswers = `{"pod":"hello-`

// tries returns the commands that are printed at the end of the demo, and run with ONCE=1. They need a shell that
// has sourced env.sh.
func (s *stage) tries() []try {
	curl := s.cloud.outside() + "curl -sSf "
	all := []try{{
		what:     "a Service, and an answer through its floating IP",
		commands: append(s.apply("service.yaml", plainName), fmt.Sprintf("%shttp://$(address_of %s):%d/", curl, plainName, s.port)),
		shows:    podAnswers,
	}}
	manifests := "-f $DEMO/service.yaml"
	if s.cloud.terminatesTLS() {
		manifests += " -f $DEMO/service-tls.yaml"
		all = append(all, try{
			what: "the same with TLS, terminated with the certificate of a Secret",
			commands: append(s.apply("service-tls.yaml", tlsName), fmt.Sprintf("%s--cacert $DEMO/tls.crt --connect-to %s:%d:$(address_of %s):%[3]d https://%[2]s:%[3]d/",
				curl, tlsHost, s.tlsPort, tlsName)),
			shows: podAnswers,
		})
	}
	_, simulated := s.cloud.(*simulated) // a real cloud may have other load balancers
	return append(all,
		try{what: "what the Services have", commands: []string{"kubectl octavia status -n " + namespace}, shows: plainName},
		try{what: "what the controller would change: nothing", commands: []string{"kubectl octavia plan -n " + namespace}, shows: plainName},
		try{what: "whether cluster, cloud and settings fit together", commands: []string{"kubectl octavia doctor"}, shows: "checks:", finds: !simulated},
		try{what: "delete them, with all that they have in the cloud", commands: []string{"kubectl delete " + manifests}, shows: "deleted"},
	)
}

// apply returns commands that apply a manifest and wait for its Service.
func (s *stage) apply(file, service string) []string {
	return []string{
		"kubectl apply -f $DEMO/" + file,
		fmt.Sprintf("kubectl -n %s wait --for=condition=kube-octavia.io/Programmed service/%s --timeout=60s", namespace, service),
	}
}

// goOn tells the user how to continue.
func (s *stage) goOn() string {
	var text strings.Builder
	fmt.Fprintf(&text, "\nThe demo keeps running until Ctrl-C. You can use it now.\n\n"+
		"  the page      %s\n  the log       %s\n  the program   %s\n\n"+
		"In another terminal, first the settings of cluster, cloud and kube-octavia:\n\n  . %s\n",
		s.page.url, s.path("controller.log"), s.path("bin/kube-octavia"), s.path("env.sh"))
	for _, t := range s.tries() {
		fmt.Fprintf(&text, "\n  # %s\n", t.what)
		for _, command := range t.commands {
			fmt.Fprintf(&text, "  %s\n", command)
		}
	}
	fmt.Fprintf(&text, "\n  # the cloud; Debian has the client in python3-openstackclient and python3-octaviaclient\n  openstack loadbalancer list\n")
	if !s.cloud.terminatesTLS() {
		text.WriteString("\nProvider ovn does not terminate TLS: a Service with a certificate is refused, and its conditions say why.\n")
	}
	fmt.Fprintf(&text, "\nServices of class %s get a load balancer, others do not; ports from 1024 on need no root.", class)
	return text.String()
}

// triesAreTrue runs the commands that goOn prints.
func triesAreTrue(ctx context.Context, p *printer, s *stage) error {
	p.step("What you can do next")
	if _, err := exec.LookPath("curl"); err != nil {
		p.note("skipped: there is no curl")
		return nil
	}
	for _, t := range s.tries() {
		p.note("%s", t.what)
		for i, command := range t.commands {
			p.doing("%s", command)
			output, err := s.shell(ctx, command)
			p.show(command, output)
			if err != nil && !(t.finds && isExit(err, 1)) {
				return fmt.Errorf("%s: %w", command, err)
			}
			if i == len(t.commands)-1 && !strings.Contains(output, t.shows) {
				return fmt.Errorf("%s: the output does not contain %q", command, t.shows)
			}
		}
	}
	answers, err := s.page.answers(ctx)
	if err == nil && !answers {
		err = fmt.Errorf("nothing answers")
	}
	if err != nil {
		return fmt.Errorf("open the page at %s: %w", s.page.url, err)
	}
	return s.isAsBefore(ctx, p)
}

// isExit reports whether a command ended with the exit status.
func isExit(err error, status int) bool {
	exit, is := errors.AsType[*exec.ExitError](err)
	return is && exit.ExitCode() == status
}

// shell runs a command as a user in another terminal does.
func (s *stage) shell(ctx context.Context, command string) (output string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*waitTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-ec", ". "+quoted(s.path("env.sh"))+"\n"+command)
	c.WaitDelay = time.Second
	text, err := c.CombinedOutput()
	return string(text), err
}
