// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/test/memory/kubernetes"
	"github.com/kube-octavia/kube-octavia/test/memory/network"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// stage is the environment of a walk: a cluster, a cloud, and a controller that is started and
// stopped.
type stage struct {
	ctx     context.Context
	dir     string
	release release.Release // of OpenStack
	client  clientgo.Interface
	server  string // of Kubernetes, for the kubeconfig
	cloud   *cloudsim.Cloud
	user    openstack.Requester
	process process
	started time.Time // of the process
	pace    pace
	// symbols are what a story calls the ids and addresses that differ between stages, such as $flavor.
	symbols map[string]string
	// conf are the lines of cloud.conf that the operator has added, by key.
	conf   map[string]string
	others map[string]string // objects of others, as they were
	ledger ledger
	// needless are writes of the controller that change nothing.
	needless needless
	// hasServers is set once the nodes are servers. servers are theirs, and groupNames the names of the security groups of others, by
	// id.
	hasServers bool
	servers    []server
	groupNames map[string]string
	// alone is the picture of another stage that has only these requests.
	alone func(dir string, r requests) (picture, error)
	// leavesPorts is set once Octavia may have left ports of VIPs behind, as it does when a create exceeds the quota of what is
	// below load balancers, or a listener does not fit the family of the VIP.
	leavesPorts bool
	// shares is set once a Service requested to share a load balancer.
	shares bool
	// keeps is set once a Service requested that its floating IP is kept. A floating IP that was kept belongs to no Service.
	keeps bool
	// moved are the Services that have requested other VIPs since they were created.
	moved map[types.UID]bool
	// requestedIDs are the load balancers that Services requested by id, by namespace/name.
	requestedIDs map[string]string
	close        []func() error
}

// process is a controller.
type process interface {
	// start starts it, stop ends it in order, and kill ends it at once. Ending one that does not run does nothing.
	start() error
	stop()
	kill()
	running() bool
	// log is what it has written last.
	log() string
	io.Writer // to the log
}

// pace has the times of a stage.
type pace struct {
	build, update, remove time.Duration    // of Octavia
	look                  time.Duration    // between two looks at the stage
	settle                time.Duration    // how long nothing may change any more
	patience              time.Duration    // how long it may take until everything is as requested
	unit                  time.Duration    // a second of a story
	now                   func() time.Time // of Octavia; nil is time.Now
	conf                  string           // in cloud.conf
	args                  []string         // of the controller
}

// virtual is the pace of stages in memory, where time passes at once: that of a real cloud.
var virtual = pace{build: 40 * time.Second, update: 4 * time.Second, remove: 6 * time.Second, look: 20 * time.Second, settle: 12 * time.Minute, patience: 3 * time.Hour, unit: time.Second}

// startProcess starts the controller unless it runs.
func (s *stage) startProcess() error {
	if !s.process.running() {
		s.started = time.Now()
	}
	return s.process.start()
}

// people is how the requests of all but the controller are marked.
const people = "people"

// newMemoryStage returns a stage in memory with these versions. It must be closed.
func newMemoryStage(ctx context.Context, dir string, v versions) (*stage, error) {
	var net network.Network
	api := kubernetes.New()
	api.Minor = v.kubernetes
	l, err := net.Listen("tcp", "kubernetes:6443")
	if err != nil {
		return nil, err
	}
	s := &stage{ctx: ctx, dir: dir, release: v.openstack, pace: virtual, server: "http://kubernetes:6443"}
	ofController := s.needless.check(api)
	server := &http.Server{ErrorLog: stdlog.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.UserAgent() == people {
			api.ServeHTTP(w, r)
			return
		}
		ofController.ServeHTTP(w, r)
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	s.alone = func(dir string, r requests) (picture, error) { return alone(ctx, dir, v, r) }
	own := net.Host()
	s.close = append(s.close, func() error {
		own.Cut()
		if err := errors.Join(server.Close()); err != nil {
			return err
		}
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	config := &rest.Config{Host: s.server, Dial: own.Dial, QPS: -1, UserAgent: people}
	if s.client, err = clientgo.NewForConfig(config); err != nil {
		return nil, errors.Join(err, s.end())
	}
	options := s.cloudOptions()
	options.Listener = net.Listen
	if err := s.start(options); err != nil {
		return nil, errors.Join(err, s.end())
	}
	s.process = &inside{net: &net, args: s.args(), dial: net.Host}
	return s, nil
}

// The subnets of load balancers: the usual one, and another one in the same network.
const firstSubnet, secondSubnet = "10.20.0.0/16", "10.30.0.0/24"

// cloudOptions returns those of all clouds. The networks are the same on all stages, so that addresses can be
// compared.
func (s *stage) cloudOptions() cloudsim.Options {
	return cloudsim.Options{
		Release: s.release, BuildTime: s.pace.build, UpdateTime: s.pace.update, DeleteTime: s.pace.remove,
		PrivateCIDR: firstSubnet, PrivateIPv6CIDR: "fd00:20::/64", PublicCIDR: "203.0.113.0/24",
		Octavia: octavia.Options{Now: s.pace.now},
	}
}

// start starts the cloud and makes what all stages have.
func (s *stage) start(o cloudsim.Options) error {
	var err error
	if s.cloud, err = cloudsim.Start(o); err != nil {
		return err
	}
	s.close = append(s.close, s.cloud.Close)
	s.user = openstack.SimulatedUser(s.cloud)
	s.conf, s.moved, s.requestedIDs = map[string]string{}, map[types.UID]bool{}, map[string]string{}
	s.close = append(s.close, s.leaveCluster)
	return errors.Join(s.makeSymbols(), s.makeCertificates(), s.makeFiles(), s.makeCluster(), s.makeOthers())
}

func (s *stage) end() error {
	var errs []error
	for _, c := range slices.Backward(s.close) {
		errs = append(errs, c())
	}
	return errors.Join(errs...)
}

// args returns those of the controller.
func (s *stage) args() []string {
	return append([]string{"controller",
		"--cloud-config=" + filepath.Join(s.dir, "cloud.conf"), "--kubeconfig=" + filepath.Join(s.dir, "kubeconfig"),
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
	}, s.pace.args...)
}

func (s *stage) makeFiles() error {
	config := clientcmdapi.NewConfig()
	config.Clusters["walk"] = &clientcmdapi.Cluster{Server: s.server}
	config.Contexts["walk"] = &clientcmdapi.Context{Cluster: "walk"}
	config.CurrentContext = "walk"
	return errors.Join(clientcmd.WriteToFile(*config, filepath.Join(s.dir, "kubeconfig")), s.writeConf())
}

// writeConf writes cloud.conf.
func (s *stage) writeConf() error {
	text := s.cloud.CloudConf() + "max-shared-lb=4\n"
	for _, key := range sortedKeys(s.conf) {
		text += key + "=" + s.resolve(s.conf[key]) + "\n"
	}
	text += s.pace.conf
	text += "\n[LoadBalancerClass \"other\"]\nlb-method=SOURCE_IP\n"
	return os.WriteFile(filepath.Join(s.dir, "cloud.conf"), []byte(text), 0o600)
}

// The namespaces and the nodes that a stage has at the start.
var (
	namespaces    = []string{"shop", "blog"}
	firstNodes    = []string{"node-1", "node-2"}
	nodeAddresses = map[string]string{
		"node-1": "10.20.0.11 fd00:20::11", "node-2": "10.20.0.12 fd00:20::12", "node-3": "10.20.0.13 fd00:20::13", "node-4": "10.20.0.14 fd00:20::14",
	}
)

func (s *stage) makeCluster() error {
	for _, name := range namespaces {
		if err := s.waitFor(s.pace.patience, func() error { return s.makeNamespace(name) }); err != nil {
			return err
		}
	}
	for _, name := range firstNodes {
		if err := s.addNode(name); err != nil {
			return err
		}
	}
	return s.setSecret(action{On: "shop/certificate", Value: "a"})
}

// makeNamespace creates a namespace unless it exists. One that is being deleted is an error.
func (s *stage) makeNamespace(name string) error {
	spaces := s.client.CoreV1().Namespaces()
	_, err := spaces.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	space, err := spaces.Get(s.ctx, name, metav1.GetOptions{})
	if err == nil && space.DeletionTimestamp != nil {
		err = fmt.Errorf("namespace %s is being deleted", name)
	}
	return err
}

// leaveCluster removes what the next walk in the same cluster must not find.
func (s *stage) leaveCluster() error {
	errs := []error{s.client.CoreV1().Nodes().DeleteCollection(s.ctx, metav1.DeleteOptions{}, metav1.ListOptions{})}
	for _, name := range namespaces {
		errs = append(errs, s.client.DiscoveryV1().EndpointSlices(name).DeleteCollection(s.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}),
			s.client.CoreV1().Secrets(name).DeleteCollection(s.ctx, metav1.DeleteOptions{}, metav1.ListOptions{}))
	}
	return errors.Join(errs...)
}

func (s *stage) addNode(name string) error {
	nodes := s.client.CoreV1().Nodes()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": name[len(name)-1:]}}}
	if s.hasServers {
		id, err := s.serverOf(name)
		if err != nil {
			return err
		}
		node.Spec.ProviderID = providerID(id)
	}
	n, err := nodes.Create(s.ctx, node, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	n.Status.Addresses = internalAddresses(nodeAddresses[name])
	_, err = nodes.UpdateStatus(s.ctx, n, metav1.UpdateOptions{})
	return err
}

// internalAddresses returns the words of a text as addresses of a Node.
func internalAddresses(text string) (all []corev1.NodeAddress) {
	for _, address := range strings.Fields(text) {
		all = append(all, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: address})
	}
	return all
}

// ofPerson is the description of the floating IPs that are given, and the name of secrets.
const ofPerson = "of a person"

// portFor returns the symbol of the port that is there for a Service.
func portFor(on string) string { return "$port-" + strings.ReplaceAll(on, "/", "-") }

// makeSymbols makes what Services can refer to.
func (s *stage) makeSymbols() error {
	ids := s.cloud.IDs()
	s.symbols = map[string]string{
		"$subnet": ids.PrivateSubnet, "$subnet-v6": ids.PrivateSubnetV6, "$network": ids.PrivateNetwork, "$public": ids.PublicNetwork, "$public-subnet": ids.PublicSubnet, "$router": ids.Router,
		"$project":  ids.Project,
		"$flavor-a": s.cloud.Octavia().AddFlavor("a", "amphora", `{"loadbalancer_topology": "SINGLE"}`),
		"$flavor-b": s.cloud.Octavia().AddFlavor("b", "amphora", `{"loadbalancer_topology": "ACTIVE_STANDBY"}`),
	}
	s.cloud.Octavia().AddAvailabilityZone("zone-a", "amphora", `{"compute_zone": "nova"}`)
	var subnet struct{ Subnet struct{ ID string } }
	err := s.neutron(http.MethodPost, "subnets", map[string]any{"subnet": map[string]any{
		"name": "private-2", "network_id": ids.PrivateNetwork, "ip_version": 4, "cidr": secondSubnet}}, &subnet)
	if err != nil {
		return err
	}
	s.symbols["$subnet-b"] = subnet.Subnet.ID
	if err := s.neutron(http.MethodPut, "routers/"+ids.Router+"/add_router_interface", map[string]any{"subnet_id": subnet.Subnet.ID}, nil); err != nil {
		return err
	}
	for _, on := range []string{"shop/web", "shop/api", "shop/pay", "blog/web"} {
		var made struct{ Port struct{ ID string } }
		if err := s.neutron(http.MethodPost, "ports", map[string]any{"port": map[string]any{"name": on, "network_id": ids.PrivateNetwork,
			"fixed_ips": []any{map[string]any{"subnet_id": ids.PrivateSubnet}}}}, &made); err != nil {
			return err
		}
		s.symbols[portFor(on)] = made.Port.ID
	}
	for _, name := range []string{"$given-a", "$given-b"} {
		var made struct {
			FloatingIP struct {
				ID      string
				Address string `json:"floating_ip_address"`
			}
		}
		if err := s.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": map[string]any{
			"floating_network_id": ids.PublicNetwork, "description": ofPerson}}, &made); err != nil {
			return err
		}
		s.symbols[name], s.symbols[name+"-id"] = made.FloatingIP.Address, made.FloatingIP.ID
	}
	return nil
}

// resolve replaces the symbols in a text.
func (s *stage) resolve(text string) string {
	for _, name := range longestFirst(s.symbols) {
		text = strings.ReplaceAll(text, name, s.symbols[name])
	}
	return text
}

// symbolic replaces ids and addresses by their symbols.
func (s *stage) symbolic(text string) string {
	for _, name := range longestFirst(s.symbols) {
		text = strings.ReplaceAll(text, s.symbols[name], name)
	}
	return text
}

func longestFirst(symbols map[string]string) []string {
	names := sortedKeys(symbols)
	slices.SortStableFunc(names, func(a, b string) int { return len(b) - len(a) })
	return names
}

// octavia makes a request of a user to Octavia, neutron one to Neutron. They fail in no way that the stage makes.
func (s *stage) octavia(method, path string, body, answer any) error {
	return openstack.Call(s.ctx, s.user, cloudsim.LoadBalancer, method, "/v2.0/lbaas/"+path, body, answer)
}

func (s *stage) neutron(method, path string, body, answer any) error {
	return openstack.Call(s.ctx, s.user, cloudsim.Network, method, "/v2.0/"+path, body, answer)
}

func (s *stage) barbican(method, path string, body, answer any) error {
	return openstack.Call(s.ctx, s.user, cloudsim.KeyManager, method, "/v1/"+path, body, answer)
}

// The objects of another cluster of the same name, in the same project.
const (
	otherCluster = "kube-octavia.cluster=8f5e2f7c-0000-4000-8000-00000000beef"
	otherService = "kube-octavia.service=8f5e2f7c-0000-4000-8000-00000000cafe"
)

// makeOthers makes objects of others: another cluster's load balancer with the name of the first Service, with a
// floating IP, and those that users made by hand.
func (s *stage) makeOthers() error {
	s.others = map[string]string{}
	name := "kube_service_kubernetes_shop_web"
	for _, one := range []struct {
		name, description string
		tags              []string
		floating          string
	}{
		{name, "Kubernetes external service shop/web from cluster kubernetes", []string{name, otherCluster, otherService},
			"Floating IP for Kubernetes external service shop/web (" + otherCluster + " " + otherService + ") from cluster kubernetes"},
		{"by-hand", "", nil, "by hand"},
	} {
		var balancer struct {
			LoadBalancer struct {
				ID   string
				Port string `json:"vip_port_id"`
			}
		}
		err := s.octavia(http.MethodPost, "loadbalancers", map[string]any{"loadbalancer": map[string]any{
			"name": one.name, "description": one.description, "vip_subnet_id": s.cloud.IDs().PrivateSubnet, "tags": one.tags,
			"listeners": []any{map[string]any{"protocol": "TCP", "protocol_port": 80, "default_pool": map[string]any{"name": "by-hand",
				"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "members": []any{map[string]any{"address": "10.20.0.99", "protocol_port": 80}}}}},
		}}, &balancer)
		if err != nil {
			return err
		}
		var floating struct{ FloatingIP struct{ ID string } }
		if err := s.neutron(http.MethodPost, "floatingips", map[string]any{"floatingip": map[string]any{
			"floating_network_id": s.cloud.IDs().PublicNetwork, "port_id": balancer.LoadBalancer.Port, "description": one.floating}}, &floating); err != nil {
			return err
		}
		s.others["loadbalancers/"+balancer.LoadBalancer.ID], s.others["floatingips/"+floating.FloatingIP.ID] = "", ""
	}
	if err := s.waitFor(time.Minute+s.pace.build*2, func() error {
		now, err := s.othersNow()
		for what, text := range now {
			if strings.Contains(text, "PENDING") {
				return fmt.Errorf("%s is PENDING", what)
			}
		}
		s.others = now
		return err
	}); err != nil {
		return err
	}
	return nil
}

// othersNow returns the objects of others as they are now.
func (s *stage) othersNow() (map[string]string, error) {
	now := map[string]string{}
	for what := range s.others {
		var text map[string]any
		call := s.neutron
		if strings.HasPrefix(what, "loadbalancers/") {
			call = s.octavia
		}
		if err := call(http.MethodGet, what, nil, &text); err != nil {
			now[what] = err.Error()
			continue
		}
		now[what] = fmt.Sprint(text)
		if strings.HasPrefix(what, "loadbalancers/") {
			var tree map[string]any
			if err := s.octavia(http.MethodGet, what+"/status", nil, &tree); err != nil {
				return nil, err
			}
			now[what] += fmt.Sprint(tree)
		}
	}
	return now, nil
}

// waitFor looks until there is no error.
func (s *stage) waitFor(limit time.Duration, check func() error) error {
	late := time.Now().Add(limit)
	for {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("after %v: %w", limit, err)
		}
		if err := s.sleep(min(s.pace.look, limit/10)); err != nil {
			return err
		}
	}
}

func (s *stage) sleep(d time.Duration) error {
	select {
	case <-s.ctx.Done():
		return s.ctx.Err()
	case <-time.After(d):
		return nil
	}
}
