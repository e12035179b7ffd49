// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pires/go-proxyproto"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxDatagram is the largest payload of a UDP datagram, rounded up.
const maxDatagram = 64 << 10

// Answer is what a Pod's server says, as one line of JSON: to every HTTP
// request on its TCP ports, and to every datagram on its UDP ports.
type Answer struct {
	// Pod and Node are where the answer comes from.
	Pod  string `json:"pod"`
	Node string `json:"node"`
	// Client is the source address that the server saw: the peer's, or the one
	// that the peer gave in a PROXY protocol header.
	Client string `json:"client"`
	// Proxied is whether there was such a header.
	Proxied bool `json:"proxied,omitempty"`
	// ForwardedFor is the request's X-Forwarded-For header.
	ForwardedFor string `json:"forwardedFor,omitempty"`
	// Data is the datagram.
	Data string `json:"data,omitempty"`
}

// process is a Pod's server.
type process struct {
	uid    types.UID
	pod    string
	node   string
	ip     netip.Addr // of the pod network
	server *http.Server
	udp    []net.PacketConn
	stops  []func() // end programs
	done   sync.WaitGroup
}

// startProcess listens on all container ports, at the first of the addresses that
// no other Pod uses.
func startProcess(pod *corev1.Pod, pods podNetwork, images map[string]Program, at []PodPort) (*process, error) {
	err := errors.New("all network namespaces for Pods are taken")
	for _, port := range at {
		p := &process{uid: pod.UID, pod: pod.Name, node: pod.Spec.NodeName, ip: port.Address}
		err = p.run(pod, pods, images, port.Namespace)
		if err == nil {
			return p, nil
		}
		p.close()
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, err
}

// run starts all containers of the Pod.
func (p *process) run(pod *corev1.Pod, pods podNetwork, images map[string]Program, namespace string) error {
	p.server = &http.Server{
		Handler:           http.HandlerFunc(p.answer),
		ReadHeaderTimeout: time.Minute,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, connKey{}, c)
		},
	}
	at, _ := pods.reachedAt(p.ip)
	for _, c := range pod.Spec.Containers {
		program := images[c.Image]
		if program == nil {
			if err := p.listen(c, at, namespace); err != nil {
				return err
			}
			continue
		}
		stop, err := program(Container{Pod: pod, Spec: c, Namespace: namespace, Address: at})
		if err != nil {
			return fmt.Errorf("container %s: %w", c.Name, err)
		}
		p.stops = append(p.stops, stop)
	}
	return nil
}

// listen serves the ports of one container.
func (p *process) listen(c corev1.Container, at netip.Addr, namespace string) error {
	for _, port := range c.Ports {
		where := netip.AddrPortFrom(at, uint16(port.ContainerPort)).String()
		switch port.Protocol {
		case corev1.ProtocolUDP:
			u, err := listenPacket(namespace, where)
			if err != nil {
				return fmt.Errorf("container port %d: %w", port.ContainerPort, err)
			}
			p.udp = append(p.udp, u)
			p.done.Go(func() { p.echo(u) })
		case corev1.ProtocolTCP:
			ln, err := listen(namespace, where)
			if err != nil {
				return fmt.Errorf("container port %d: %w", port.ContainerPort, err)
			}
			p.done.Go(func() { _ = p.server.Serve(&proxyproto.Listener{Listener: ln, ConnPolicy: headerOptional}) })
		default:
			return fmt.Errorf("container port %d: protocol %s is not served here", port.ContainerPort, port.Protocol)
		}
	}
	return nil
}

// headerOptional understands a PROXY header but does not request one.
func headerOptional(proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
	return proxyproto.USE, nil
}

// connKey finds the connection in a request's context.
type connKey struct{}

// answer serves HTTP.
func (p *process) answer(w http.ResponseWriter, r *http.Request) {
	a := p.says(r.RemoteAddr)
	if c, ok := r.Context().Value(connKey{}).(*proxyproto.Conn); ok {
		a.Proxied = c.ProxyHeader() != nil
	}
	a.ForwardedFor = strings.Join(r.Header.Values("X-Forwarded-For"), ", ")
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(a) // an error here is the client's leaving
}

// echo serves UDP until the socket is closed.
func (p *process) echo(c net.PacketConn) {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := c.ReadFrom(buf)
		if err != nil {
			return
		}
		a := p.says(from.String())
		a.Data = string(buf[:n])
		line, err := json.Marshal(a)
		if err != nil {
			continue
		}
		_, _ = c.WriteTo(append(line, '\n'), from) // datagrams may be lost
	}
}

func (p *process) says(client string) Answer {
	if ap, err := netip.ParseAddrPort(client); err == nil {
		client = ap.Addr().Unmap().String()
	}
	return Answer{Pod: p.pod, Node: p.node, Client: client}
}

func (p *process) close() {
	_ = p.server.Close()
	for _, u := range p.udp {
		_ = u.Close()
	}
	for _, stop := range p.stops {
		stop()
	}
	p.done.Wait()
}
