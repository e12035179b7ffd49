// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/freeport"
)

// page is `kube-octavia ui`, which serves the topology page.
type page struct {
	url     string
	log     *os.File
	stop    context.CancelFunc
	stopped chan int
}

// pagePort is the default port of the page.
const pagePort = 8088

// startPage serves the page, and returns when it answers.
func (s *stage) startPage(ctx context.Context) error {
	offset, err := freeport.Offset(0, pagePort)
	if err != nil {
		return err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(pagePort+offset))
	log, err := os.Create(s.path("ui.log"))
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(context.Background())
	s.page = &page{url: "http://" + address + "/", log: log, stop: stop, stopped: make(chan int, 1)}
	go func() {
		s.page.stopped <- cli.Run(running, append([]string{"ui", "--address=" + address}, s.flags()...), cli.IO{Out: log, Err: log}, cli.Options{Version: "demo"})
	}()
	return until(ctx, func() (bool, error) {
		select {
		case status := <-s.page.stopped:
			s.page.stopped <- status
			return false, fmt.Errorf("kube-octavia ui ended with status %d: %s", status, tail(s.path("ui.log")))
		default:
		}
		return s.page.answers(ctx)
	})
}

// answers reports whether the page is served.
func (p *page) answers(ctx context.Context) (bool, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url, nil)
	if err != nil {
		return false, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, nil // not yet
	}
	if err := response.Body.Close(); err != nil {
		return false, err
	}
	if response.StatusCode != http.StatusOK {
		return false, fmt.Errorf("the page at %s answers %s", p.url, response.Status)
	}
	return true, nil
}

// close stops serving.
func (p *page) close() error {
	p.stop()
	status := <-p.stopped
	if err := p.log.Close(); err != nil {
		return err
	}
	if status != 0 {
		return fmt.Errorf("kube-octavia ui ended with status %d; its log:%s", status, tail(p.log.Name()))
	}
	return nil
}
