// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/kube-octavia/kube-octavia/test/freeport"
)

// stopTime bounds the end of a controller that was told to stop; it allows
// itself 30 s.
const stopTime = 40 * time.Second

// logTail is how much of the controller's log an error shows, in bytes.
const logTail = 3000

// controller is one run of `kube-octavia controller`.
type controller struct {
	cmd             *exec.Cmd
	log             string
	metrics, health string
	ended           chan struct{}
	exit            error // of Wait; to be read after ended
}

// startController starts the controller with the flags it has by default, but
// for the addresses that it listens on. Its log goes to the end of the file.
func startController(binary, log string, flags []string) (*controller, error) {
	c := &controller{log: log, ended: make(chan struct{})}
	var err error
	if c.metrics, err = freeport.Address(); err != nil {
		return nil, err
	}
	if c.health, err = freeport.Address(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	c.cmd = exec.Command(binary, append([]string{"controller",
		"--metrics-bind-address=" + c.metrics, "--health-probe-bind-address=" + c.health}, flags...)...)
	c.cmd.Stdout, c.cmd.Stderr = file, file
	c.cmd.SysProcAttr = childAttributes()
	started := make(chan error)
	go func() {
		// The kernel takes the death of the thread that started the child for
		// the death of its parent, so the thread is kept as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer close(c.ended)
		err := c.cmd.Start()
		started <- err
		if err == nil {
			c.exit = c.cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start the controller: %w", err)
	}
	return c, nil
}

// checkAlive returns an error if the controller has ended.
func (c *controller) checkAlive() error {
	select {
	case <-c.ended:
		return fmt.Errorf("the controller has ended (%v); the end of its log:\n%s", c.cmd.ProcessState, c.tail())
	default:
		return nil
	}
}

// stop tells the controller to stop, which it has to do with exit status 0.
func (c *controller) stop() error {
	if err := c.checkAlive(); err != nil {
		return err
	}
	if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the controller: %w", err)
	}
	select {
	case <-c.ended:
	case <-time.After(stopTime):
		return errors.Join(fmt.Errorf("the controller did not stop in %v", stopTime), c.kill())
	}
	if c.exit != nil {
		return fmt.Errorf("the controller was told to stop and ended with %w; the end of its log:\n%s", c.exit, c.tail())
	}
	return nil
}

// kill ends the controller at once, as kill -9 does.
func (c *controller) kill() error {
	if err := c.checkAlive(); err != nil {
		return err
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the controller: %w", err)
	}
	<-c.ended
	return nil
}

// checkReady returns an error until the controller is ready and serves metrics.
func (c *controller) checkReady() error {
	if _, err := get("http://" + c.health + "/readyz"); err != nil {
		return err
	}
	_, err := get("http://" + c.metrics + "/metrics")
	return err
}

// checkIdle returns an error while a pass over a Service is under way or due.
func (c *controller) checkIdle() error {
	for _, name := range []string{"workqueue_depth", "controller_runtime_active_workers"} {
		if n, err := c.metric(name); err != nil {
			return err
		} else if n > 0 {
			return fmt.Errorf("%s is %v", name, n)
		}
	}
	return nil
}

// metric is the sum of a metric's values over its labels.
func (c *controller) metric(name string) (float64, error) {
	page, err := get("http://" + c.metrics + "/metrics")
	if err != nil {
		return 0, err
	}
	var sum float64
	for line := range strings.Lines(page) {
		rest, found := strings.CutPrefix(strings.TrimSpace(line), name)
		if !found || rest == "" || rest[0] != '{' && rest[0] != ' ' {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndex(rest, " ")+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metric %s: %w", name, err)
		}
		sum += value
	}
	return sum, nil
}

// memory is a size of the process, in MB: VmRSS, what it has in memory now, or
// VmHWM, the most it ever had. Only Linux tells.
func (c *controller) memory(size string) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
	if err != nil {
		return 0, fmt.Errorf("read the controller's memory: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == size+":" {
			kib, err := strconv.Atoi(fields[1])
			return float64(kib) * 1024 / 1e6, err
		}
	}
	return 0, fmt.Errorf("the system does not tell %s of the controller", size)
}

// tail is the end of the log.
func (c *controller) tail() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return err.Error()
	}
	return string(bytes.TrimSpace(text[max(0, len(text)-logTail):]))
}

// get returns a page that has to be there.
func get(address string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", address, response.Status)
	}
	return string(page), err
}
