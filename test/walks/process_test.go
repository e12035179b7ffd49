// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"bytes"
	"context"
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/test/memory/network"
)

// inside is a controller inside this process, on a machine of the network in memory.
type inside struct {
	net  *network.Network
	args []string
	dial func() *network.Host

	text tail
	host *network.Host
	end  context.CancelFunc
	done chan struct{}
}

func (p *inside) running() bool { return p.done != nil }

func (p *inside) start() error {
	if p.running() {
		return nil
	}
	ctx, end := context.WithCancel(context.Background())
	waits := timing.Default()
	waits.CloudConfigInterval = time.Minute // an hour of a walk takes no time, but to parse the file does
	p.host, p.end, p.done = p.net.Host(), end, make(chan struct{})
	go func(done chan struct{}, host *network.Host) {
		defer close(done)
		for ctx.Err() == nil {
			cli.Run(ctx, p.args, cli.IO{Out: &p.text, Err: &p.text}, cli.Options{Version: "walks", Dial: host.Dial, Timing: waits})
			select { // it ended by itself, and kubelet starts it again
			case <-ctx.Done():
			case <-time.After(restartPause):
			}
		}
	}(p.done, p.host)
	return nil
}

// restartPause is how long kubelet waits before it starts a controller again that has ended by itself.
const restartPause = 10 * time.Second

func (p *inside) stop() {
	if !p.running() {
		return
	}
	p.end()
	<-p.done
	p.host.Cut() // idle connections
	p.done = nil
}

// kill cuts the controller off: nothing of what it still does is seen. Then it ends.
func (p *inside) kill() {
	if !p.running() {
		return
	}
	p.host.Cut()
	p.stop()
}

func (p *inside) log() string { return p.text.String() }

// Write implements io.Writer.
func (p *inside) Write(text []byte) (int, error) { return p.text.Write(text) }

// tail keeps the end of what is written. It is safe for concurrent use.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// maxTail is how much is kept, at least.
const maxTail = 1 << 20

// Write implements io.Writer.
func (l *tail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.text.Len() > 2*maxTail {
		kept := bytes.Clone(l.text.Bytes()[l.text.Len()-maxTail:])
		l.text.Reset()
		l.text.Write(kept)
	}
	return l.text.Write(p)
}

func (l *tail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
