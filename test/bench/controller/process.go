// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

const (
	// stopTime bounds the end of a controller that was told to stop.
	stopTime = 40 * time.Second
	// logTail is how much of the log an error shows, in bytes.
	logTail = 3000
)

// Process is one run of a controller.
type Process struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
	exit  error // of Wait; to be read after ended
}

// Start runs the command. Its output is appended to the log file.
func Start(c Command, v Values, log string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	arguments := c.fill(v)
	p := &Process{log: log, ended: make(chan struct{}), cmd: exec.Command(arguments[0], arguments[1:]...)}
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	go func() {
		// The kernel treats the end of the thread that started the child as the end of its parent,
		// so the thread is kept as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(p.ended)
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.exit = p.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the controller: %w", err)
	}
	return p, nil
}

// CheckAlive returns an error if the controller has ended.
func (p *Process) CheckAlive() error {
	select {
	case <-p.ended:
		return fmt.Errorf("the controller has ended (%v)%s", p.cmd.ProcessState, p.Tail())
	default:
		return nil
	}
}

// Stop tells the controller to stop and waits until it has. Its exit status does not matter:
// some controllers end with an error when they give up leadership.
func (p *Process) Stop() error {
	if err := p.CheckAlive(); err != nil {
		return err
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the controller: %w", err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTime):
		return errors.Join(fmt.Errorf("the controller did not stop in %v%s", stopTime, p.Tail()), p.Kill())
	}
}

// Kill ends the controller at once, as kill -9 does.
func (p *Process) Kill() error {
	if err := p.CheckAlive(); err != nil {
		return err
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the controller: %w", err)
	}
	<-p.ended
	return nil
}

// Tail returns the end of the log, for an error message.
func (p *Process) Tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return "; its log cannot be read: " + err.Error()
	}
	return "; the end of its log:\n" + string(bytes.TrimSpace(text[max(0, len(text)-logTail):]))
}
