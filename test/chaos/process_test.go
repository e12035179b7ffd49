// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a controller. If it ends by itself it is started again, as by a kubelet.
type process struct {
	args []string
	// ofAnotherKind is whether the controller also serves ConfigMaps.
	ofAnotherKind bool
	log           log

	mu         sync.Mutex
	command    *exec.Cmd
	ended      chan struct{} // closed when command has ended
	starts     int
	stopped    bool // it is not started again
	startError error
}

// log collects what a process writes. It is safe for concurrent use.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything that was written so far.
func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// restartPause lies between the end of a controller and the start of the next.
const restartPause = 50 * time.Millisecond

// startProcess starts a controller with these arguments.
func startProcess(args []string, ofAnotherKind bool) (*process, error) {
	p := &process{args: args, ofAnotherKind: ofAnotherKind}
	return p, p.start()
}

func (p *process) start() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := exec.Command(program, p.args...)
	c.Env = append(os.Environ(), controllerVariable+"=1")
	if p.ofAnotherKind {
		c.Env = append(c.Env, otherKindVariable+"=1")
	}
	if *stateDir != "" {
		c.Env = append(c.Env, realCloudVariable+"=1")
	}
	c.Stdout, c.Stderr = &p.log, &p.log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return fmt.Errorf("start the controller: %w", err)
	}
	p.starts++
	ended := make(chan struct{})
	p.command, p.ended = c, ended
	go p.wait(c, ended)
	return nil
}

func (p *process) wait(c *exec.Cmd, ended chan struct{}) {
	_ = c.Wait() // the result is read from ProcessState
	close(ended)
	p.mu.Lock()
	again := !p.stopped && p.command == c && p.starts < 50
	p.mu.Unlock()
	if !again {
		return
	}
	fmt.Fprintf(&p.log, "--- the controller ended: %v\n", c.ProcessState)
	time.Sleep(restartPause) // as a kubelet waits
	p.mu.Lock()
	again = !p.stopped && p.command == c
	p.mu.Unlock()
	if again {
		if err := p.start(); err != nil {
			p.mu.Lock()
			p.startError = err
			p.mu.Unlock()
		}
	}
}

// kill ends the controller with SIGKILL, and does not start it again.
func (p *process) kill() {
	p.mu.Lock()
	p.stopped = true
	c, ended := p.command, p.ended
	p.mu.Unlock()
	_ = c.Process.Kill() // it may have ended
	<-ended
	fmt.Fprintf(&p.log, "--- the controller was killed\n")
}

// signal sends the controller a signal.
func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.command.Process.Signal(s) // it may have ended
}

// restart starts the controller that was killed.
func (p *process) restart() error {
	p.mu.Lock()
	p.stopped = false
	p.mu.Unlock()
	return p.start()
}

// startCount returns how often a controller was started.
func (p *process) startCount() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.starts
}

// checkWorking returns an error until the controller that was started last works.
func (p *process) checkWorking() error {
	p.mu.Lock()
	broken := p.startError
	p.mu.Unlock()
	text := p.log.String()
	if last := strings.LastIndex(text, "--- the controller"); last >= 0 {
		text = text[last:]
	}
	if broken == nil && !strings.Contains(text, "Starting workers") {
		broken = fmt.Errorf("the controller does not work yet")
	}
	return broken
}
