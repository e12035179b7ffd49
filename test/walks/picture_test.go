// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// picture is what there is in the cloud, and what the Services say, one line for each thing. Ids, generated addresses and
// times are replaced, so that two stages with the same requests have the same picture.
type picture map[string]string

// diff returns what differs. A line that says any differs from none.
func (p picture) diff(want picture) string {
	have, wanted := maps.Clone(p), maps.Clone(want)
	for line, text := range p {
		if other, both := want[line]; both && (text == anyText || other == anyText) {
			delete(have, line)
			delete(wanted, line)
		}
	}
	return cmp.Diff(map[string]string(wanted), map[string]string(have))
}

// anyText is the text of a line that may say anything.
const anyText = "any"

// A field of the cloud is left out of a picture if it is different each time, or follows from others.
var leftOut = map[string]bool{
	"id": true, "created_at": true, "updated_at": true, "project_id": true, "tenant_id": true, "operating_status": true, "loadbalancers": true,
	"listeners": true, "pools": true, "members": true, "default_pool_id": true, "healthmonitor_id": true, "vip_port_id": true, "vip_address": true,
	"vip_qos_policy_id": true, "default_pool": true, "l7policies": true, "revision_number": true,
}

// refused returns the Services that cannot be served as they are requested.
func (p picture) refused() (all []string) {
	for line, text := range p {
		if name, ok := strings.CutPrefix(line, "Service "); ok && (strings.Contains(text, "Accepted=False") || strings.Contains(text, "Programmed=False")) {
			all = append(all, name)
		}
	}
	return all
}

// without returns the picture without these Services and their objects: a Service that is refused keeps what it
// has.
func (p picture) without(services []string) picture {
	kept := picture{}
	for line, text := range p {
		if len(services) > 0 && strings.HasSuffix(line, " "+ofNoService) {
			continue // a rule for a NodePort that one of them had
		}
		if len(services) > 0 && text == withoutNode {
			continue // as long as it is unknown which members one of them has, the port keeps the group
		}
		if !slices.ContainsFunc(services, func(name string) bool { return about(name, line, text) }) {
			kept[line] = text
		}
	}
	if len(services) > 0 {
		return kept.withoutEmptied()
	}
	return kept
}

// about reports whether a line of a picture is about a Service or its objects.
func about(service, line, text string) bool {
	return strings.Contains(line+text, "<"+service+">") || line == "Service "+service
}

// photographer makes a picture of a stage.
type photographer struct {
	s *stage
	p picture
	// names replaces uids and ids; labels are those of load balancers, by id; addresses have the meaning of addresses.
	names     []string
	labels    map[string]string
	addresses map[string]string
	requested map[string]bool // the given addresses that a Service requests
	// named are the Services that name a load balancer by its id: they show whose it is when a client removed its tags.
	named map[string]string
	// placed are the Services that request a subnet, and flavored those that request a flavor. A load balancer stays where it
	// is, and keeps its flavor, when its Service no longer requests that.
	placed, flavored map[string]bool
	// zoned are those that request an availability zone, and ported those that request a port.
	zoned, ported map[string]bool
	// choosing are the Services whose members are some of the nodes: which, depends on their uid.
	choosing map[string]bool
}

type anything = map[string]any

// picture looks at everything, as a user.
func (s *stage) picture() (picture, error) {
	ph := &photographer{s: s, p: picture{}, labels: map[string]string{}, addresses: map[string]string{}, requested: map[string]bool{}, named: map[string]string{},
		placed: map[string]bool{}, flavored: map[string]bool{}, zoned: map[string]bool{}, ported: map[string]bool{}, choosing: map[string]bool{}}
	services, err := s.client.CoreV1().Services("").List(s.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	system, err := s.client.CoreV1().Namespaces().Get(s.ctx, "kube-system", metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	ph.names = append(ph.names, string(system.UID), "<cluster>")
	services.Items = slices.DeleteFunc(services.Items, func(v corev1.Service) bool { return v.Namespace == "default" }) // default/kubernetes
	for _, v := range services.Items {
		ph.names = append(ph.names, string(v.UID), "<"+v.Namespace+"/"+v.Name+">")
		name := "load balancer of <" + v.Namespace + "/" + v.Name + ">"
		ph.named[v.Annotations[annotation.LoadBalancerID]] = "<" + v.Namespace + "/" + v.Name + ">"
		ph.placed[name], ph.flavored[name] = v.Annotations[annotation.SubnetID] != "", v.Annotations[annotation.FlavorID] != ""
		ph.zoned[name], ph.ported[name] = v.Annotations[annotation.AvailabilityZone] != "", v.Annotations[annotation.PortID] != ""
		most, set := v.Annotations[annotation.MaxMembers]
		ph.choosing[name] = most == "1" || !set && s.conf["max-members"] == "1"
		for _, text := range []string{v.Spec.LoadBalancerIP, v.Annotations[own+"floating-ip"]} {
			ph.requested[strings.TrimSuffix(s.symbolic(text), "-id")] = true
		}
	}
	for _, name := range longestFirst(s.symbols) {
		ph.names = append(ph.names, s.symbols[name], name)
	}
	if err := ph.secrets(); err != nil {
		return nil, err
	}
	if err := ph.cloud(); err != nil {
		return nil, err
	}
	if s.hasServers {
		if err := ph.securityGroups(services.Items); err != nil {
			return nil, err
		}
	}
	for i := range services.Items {
		ph.service(&services.Items[i])
	}
	return ph.p, nil
}

// text returns a value with its ids replaced, without the fields that are left out.
func (ph *photographer) text(o anything) string {
	kept := anything{}
	for field, value := range o {
		if leftOut[field] {
			continue
		}
		if list, ok := value.([]any); ok && field == "additional_vips" {
			for _, one := range list {
				if vip, ok := one.(anything); ok {
					delete(vip, "ip_address") // both are generated
					delete(vip, "port_id")
				}
			}
		} else if ok {
			texts := []string{}
			for _, one := range list {
				// A load balancer that replaced another one says so as long as it exists.
				if text := fmt.Sprint(one); !strings.HasPrefix(text, "kube-octavia.replaces=") {
					texts = append(texts, text)
				}
			}
			// Ids would be in another order in each picture.
			slices.SortFunc(texts, func(a, b string) int { return strings.Compare(ph.replaced(a), ph.replaced(b)) })
			value = texts
		}
		kept[field] = value
	}
	text, _ := json.Marshal(kept) // it was JSON
	return ph.replaced(string(text))
}

func (ph *photographer) replaced(text string) string {
	named := strings.NewReplacer(ph.names...).Replace(text)
	return secretOf.ReplaceAllString(numbered.ReplaceAllString(named, "${1}_N_"), "")
}

// secretOf is what comes before the id of a secret in its reference.
var secretOf = regexp.MustCompile(`http://[0-9.:]+/v1/secrets/`)

// numbered are names of listeners and pools. Their number tells in which order they were made.
var numbered = regexp.MustCompile(`(listener|pool|monitor|member)_[0-9]+_`)

func (ph *photographer) list(call func(method, path string, body, answer any) error, path, key string) ([]anything, error) {
	var answer map[string]json.RawMessage
	if err := call(http.MethodGet, path, nil, &answer); err != nil {
		return nil, err
	}
	var all []anything
	return all, json.Unmarshal(answer[key], &all)
}

// add adds a line; what is there twice has a number.
func (ph *photographer) add(name, text string) string {
	unique := name
	for i := 2; ; i++ {
		if _, there := ph.p[unique]; !there {
			ph.p[unique] = text
			return unique
		}
		unique = fmt.Sprintf("%s #%d", name, i)
	}
}

func (ph *photographer) cloud() error {
	s := ph.s
	balancers, err := ph.list(s.octavia, "loadbalancers", "loadbalancers")
	if err != nil {
		return err
	}
	ports := map[string]string{}
	sort.Slice(balancers, func(i, j int) bool {
		return fmt.Sprint(balancers[i]["created_at"]) < fmt.Sprint(balancers[j]["created_at"])
	})
	for _, b := range balancers {
		id := b["id"].(string)
		if _, other := s.others["loadbalancers/"+id]; other {
			ports[fmt.Sprint(b["vip_port_id"])] = "others"
			continue
		}
		delete(b, "name") // its tags show whose it is, whatever its name is
		owner := ph.ownerOf(b)
		if !ph.flavored[owner] {
			delete(b, "flavor_id")
		}
		if !ph.zoned[owner] {
			delete(b, "availability_zone")
		}
		second := additionalAddress(b)
		text := ph.where(owner, ph.text(b))
		if ph.ported[owner] {
			text += " at port " + ph.replaced(fmt.Sprint(b["vip_port_id"]))
		}
		label := ph.add(owner, text)
		ph.labels[id] = label
		ports[fmt.Sprint(b["vip_port_id"])] = label
		ph.addresses[fmt.Sprint(b["vip_address"])] = "VIP of " + label
		ph.addresses[second] = "second VIP of " + label
		if err := ph.children(label, id, b["vip_subnet_id"]); err != nil {
			return err
		}
	}
	floating, err := ph.list(s.neutron, "floatingips", "floatingips")
	if err != nil {
		return err
	}
	for _, f := range floating {
		id := f["id"].(string)
		if _, other := s.others["floatingips/"+id]; other {
			continue
		}
		where := "nowhere"
		if port, ok := f["port_id"].(string); ok {
			if where, ok = ports[port]; !ok {
				where = "unknown port"
			}
		}
		address := fmt.Sprint(f["floating_ip_address"])
		name := "floating IP at " + where
		tags, _ := json.Marshal(f["tags"])
		text := ph.replaced(fmt.Sprint(f["floating_network_id"], " ", f["description"], " ", string(tags)))
		given := s.symbolic(address)
		switch {
		case (s.keeps || s.shares) && strings.Contains(text, "(kept kube-octavia.cluster=") && where == "nowhere":
			continue // no Service uses it; one may have published it before it shared a load balancer
		case given == address:
		case where == "nowhere":
			continue // one of a user's that no Service uses
		case ph.requested[given]:
			name = "floating IP " + given + " at " + where
		default:
			text = anyText // a Service keeps the address that it does not request any more
		}
		ph.addresses[address] = name
		ph.add(name, text)
	}
	vips, err := ph.list(s.neutron, "ports?device_owner=Octavia", "ports")
	if err != nil {
		return err
	}
	for _, p := range vips {
		if id, device := p["id"].(string), fmt.Sprint(p["device_id"]); ports[id] == "" && strings.HasPrefix(device, "lb-") && !s.leavesPorts {
			ph.add("port of no load balancer", ph.replaced(fmt.Sprint(p["name"], p["fixed_ips"])))
		}
	}
	return nil
}

// secrets adds the secrets in Barbican that are no person's, and gives their ids names. It comes first: listeners refer to them.
func (ph *photographer) secrets() error {
	secrets, err := ph.list(ph.s.barbican, "secrets?limit=100", "secrets")
	if err != nil {
		return err
	}
	for _, o := range secrets {
		if o["name"] == ofPerson {
			continue
		}
		line := ph.add("secret "+ph.replaced(fmt.Sprint(o["name"])), "")
		ph.names = append(ph.names, path.Base(fmt.Sprint(o["secret_ref"])), "<"+line+">")
	}
	return nil
}

// additionalAddress returns the address of the second VIP of a load balancer, or "".
func additionalAddress(b anything) string {
	vips, _ := b["additional_vips"].([]any)
	if len(vips) == 0 {
		return ""
	}
	vip, _ := vips[0].(anything)
	return fmt.Sprint(vip["ip_address"])
}

// where returns the text without the subnet, unless the Service requests one.
func (ph *photographer) where(label, text string) string {
	if ph.placed[label] {
		return text
	}
	return strings.ReplaceAll(text, "$subnet-b", "$subnet")
}

// ownerOf names the Services whose tags a load balancer has.
func (ph *photographer) ownerOf(b anything) string {
	var owners []string
	for _, tag := range b["tags"].([]any) {
		if rest, ok := strings.CutPrefix(ph.replaced(tag.(string)), "kube-octavia.service="); ok {
			owners = append(owners, rest)
		}
	}
	if of := ph.named[fmt.Sprint(b["id"])]; len(owners) == 0 && len(b["tags"].([]any)) == 0 && of != "" {
		return "load balancer of " + of
	}
	if len(owners) == 0 {
		return "load balancer of no Service with tags " + fmt.Sprint(b["tags"])
	}
	slices.Sort(owners)
	return "load balancer of " + strings.Join(owners, "")
}

// children adds listeners and pools of a load balancer.
func (ph *photographer) children(label, id string, vipSubnet any) error {
	s := ph.s
	pools, err := ph.list(s.octavia, "pools?loadbalancer_id="+id, "pools")
	if err != nil {
		return err
	}
	texts := map[string]string{}
	for _, p := range pools {
		text := ph.text(p)
		members, err := ph.list(s.octavia, "pools/"+p["id"].(string)+"/members", "members")
		if err != nil {
			return err
		}
		var lines []string
		for _, m := range members {
			if m["subnet_id"] == nil {
				m["subnet_id"] = vipSubnet // Octavia uses that of the VIP then
			}
			if owner, _, _ := strings.Cut(label, " #"); ph.choosing[owner] {
				delete(m, "address")
				delete(m, "name")
				delete(m, "subnet_id") // of the family of the address
			}
			lines = append(lines, ph.text(m))
		}
		slices.Sort(lines)
		text += "\nmembers " + strings.Join(lines, "\n        ")
		if monitor, ok := p["healthmonitor_id"].(string); ok && monitor != "" {
			var answer struct{ HealthMonitor anything }
			if err := s.octavia(http.MethodGet, "healthmonitors/"+monitor, nil, &answer); err != nil {
				return err
			}
			// A monitor that another client made is used if one is requested.
			delete(answer.HealthMonitor, "name")
			delete(answer.HealthMonitor, "tags")
			text += "\nmonitor " + ph.text(answer.HealthMonitor)
		}
		texts[p["id"].(string)] = text
	}
	listeners, err := ph.list(s.octavia, "listeners?loadbalancer_id="+id, "listeners")
	if err != nil {
		return err
	}
	for id, text := range texts {
		texts[id] = ph.where(label, text)
	}
	for _, l := range listeners {
		pool, _ := l["default_pool_id"].(string)
		ph.add(fmt.Sprintf("%s, port %v/%v", label, l["protocol"], l["protocol_port"]), ph.text(l)+"\npool "+texts[pool])
		delete(texts, pool)
	}
	for _, id := range sortedKeys(texts) {
		ph.add(label+", pool without listener", texts[id])
	}
	return nil
}

// service adds what a Service says.
func (ph *photographer) service(v *corev1.Service) {
	name := "Service " + v.Namespace + "/" + v.Name
	var lines []string
	for _, c := range v.Status.Conditions {
		if strings.HasPrefix(c.Type, "kube-octavia.io/") {
			lines = append(lines, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
		}
	}
	slices.Sort(lines)
	for _, i := range v.Status.LoadBalancer.Ingress {
		mode := ""
		if i.IPMode != nil {
			mode = string(*i.IPMode)
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintf("published %s%s %s", ph.meaning(i.IP), i.Hostname, mode)))
	}
	if v.DeletionTimestamp != nil {
		lines = append(lines, "being deleted")
	}
	lines = append(lines, "finalizers "+strings.Join(v.Finalizers, " "))
	for _, a := range annotation.Table {
		value, there := v.Annotations[a.Key]
		if !a.Output || !there || brought(v) {
			continue
		}
		if a.Key == annotation.LoadBalancerID && unserved(v) && value == ph.s.requestedIDs[v.Namespace+"/"+v.Name] {
			continue // it is a user's request, which stays
		}
		switch a.Key {
		case annotation.LoadBalancerID:
			if value = ph.labels[value]; value == "" {
				value = "unknown"
			}
		case annotation.LoadBalancerAddress:
			value = ph.meaning(value)
		case annotation.Managed:
			value = ph.replaced(value)
		default:
			value = "is set"
		}
		lines = append(lines, a.Key+"="+value)
	}
	ph.p[name] = strings.Join(lines, "\n")
}

// brought reports whether a Service that needs no load balancer has what was written to another one, of which it is a copy. That is
// removed when it gets a load balancer: docs/how-it-works.md, Copied Services.
func brought(v *corev1.Service) bool {
	mark := v.Annotations[annotation.Managed]
	return unserved(v) && mark != "" && !strings.HasPrefix(mark, string(v.UID)+" ")
}

// unserved reports whether a Service needs no load balancer, and the controller has let go of it.
func unserved(v *corev1.Service) bool {
	return v.Spec.Type != corev1.ServiceTypeLoadBalancer && len(v.Finalizers) == 0
}

// meaning returns what an address is.
func (ph *photographer) meaning(address string) string {
	if address == "" {
		return ""
	}
	if what := ph.addresses[address]; what != "" {
		return what
	}
	return "unknown address " + address
}
