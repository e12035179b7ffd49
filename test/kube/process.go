// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// logTail is how much of a process's log an error shows, in bytes.
const logTail = 2000

// process is a program that runs in a directory and logs into a file there.
type process struct {
	name     string
	logPath  string
	cmd      *exec.Cmd
	onExit   func()        // called by stop at its end; may be nil
	done     chan struct{} // closed when the program has ended
	exit     error         // of Wait; to be read after done
	reported bool          // waitFor has returned failure
}

// startProcess runs the program; name is that of its log. It is killed when this process dies.
func startProcess(path, name, dir string, args []string) (*process, error) {
	p := &process{
		name:    name,
		logPath: filepath.Join(dir, name+".log"),
		cmd:     exec.Command(path, args...),
		done:    make(chan struct{}),
	}
	log, err := os.Create(p.logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p.cmd.Dir = dir
	p.cmd.Stdout = log
	p.cmd.Stderr = log
	p.cmd.SysProcAttr = childAttributes()

	started := make(chan error)
	go func() {
		// The kernel treats the end of the thread that started the child as the end of its parent,
		// so the thread is kept as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		p.exit = p.cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	return p, nil
}

// waitFor calls ready every pollInterval until it returns nil. It fails when the
// program ends before, or when ctx ends; the error has the last lines of the
// log and what ready returned last.
func (p *process) waitFor(ctx context.Context, what string, ready func(context.Context) error) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	var last error
	for {
		last = ready(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			p.reported = true
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("wait for %s %s: %w (last answer: %w)%s", p.name, what, context.Cause(ctx), last, p.tail())
		case <-tick.C:
		}
	}
}

// stop kills the program and waits until it has ended. It fails if the program
// had ended before and waitFor has not returned that.
func (p *process) stop() error {
	var err error
	select {
	case <-p.done:
		if !p.reported {
			err = p.failure()
		}
	default:
		if killErr := p.cmd.Process.Kill(); killErr != nil && !errors.Is(killErr, os.ErrProcessDone) {
			return fmt.Errorf("kill %s (pid %d): %w", p.name, p.cmd.Process.Pid, killErr)
		}
		<-p.done
	}
	if p.onExit != nil {
		p.onExit()
	}
	return err
}

// failure says how the program ended by itself. Call it after done.
func (p *process) failure() error {
	how := "exit status 0"
	if p.exit != nil {
		how = p.exit.Error()
	}
	return fmt.Errorf("%s ended by itself (%s)%s", p.name, how, p.tail())
}

// tail returns the end of the log, for an error message.
func (p *process) tail() string {
	log, err := os.ReadFile(p.logPath)
	if err != nil {
		return fmt.Sprintf("; its log cannot be read: %v", err)
	}
	log = bytes.TrimSpace(log)
	if len(log) == 0 {
		return "; its log is empty"
	}
	if len(log) > logTail {
		log = log[len(log)-logTail:]
		if _, rest, found := bytes.Cut(log, []byte("\n")); found {
			log = rest
		}
	}
	return fmt.Sprintf("; the end of its log:\n%s", log)
}
