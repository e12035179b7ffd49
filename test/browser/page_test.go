// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package browser_test

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
)

// listed is the number of Services in the list.
const listed = `document.querySelectorAll('#services [role=option]').length`

// readMembers waits until the server knows the members of all Services.
func (w *world) readMembers(services int) map[string]topology.Service {
	w.t.Helper()
	var all map[string]topology.Service
	w.eventually(func() error {
		all = w.services()
		for _, s := range all {
			if s.LoadBalancer == nil || len(s.LoadBalancer.Pools) == 0 || len(s.LoadBalancer.Pools[0].Members) == 0 {
				return fmt.Errorf("the members of %s are not read yet", s.Key)
			}
		}
		if len(all) != services {
			return fmt.Errorf("%d Services", len(all))
		}
		return nil
	})
	return all
}

func TestPageShowsServicesAndFollowsChanges(t *testing.T) {
	chromium(t)
	w := newWorld(t)
	w.addServices(name{"shop", "checkout"}, name{"shop", "catalogue"}, name{"media", "images"})
	w.waitUntilProgrammed()
	for _, s := range w.readMembers(3) {
		w.report(s, 0)
	}
	tab := w.open()
	tab.waitFor(listed + ` === 3 && document.querySelectorAll('#services .icon.ok').length === 3`)

	tab.searchFilters()
	tab.keyboardOpensAService()
	tab.changesAppear()
	tab.coloursFollow()
	tab.requireFits()
	tab.requireNoComplaints()
}

// searchFilters checks that the search filters.
func (b *tab) searchFilters() {
	b.t.Helper()
	b.press("/")
	b.write("shop check")
	b.waitFor(listed + ` === 1 && document.querySelector('.overview').querySelectorAll('.group').length === 1`)
	b.press(kb.Escape)
	b.waitFor(listed + ` === 3`)
	b.write("nothing like that")
	b.waitFor(`document.querySelector('main').innerText.includes('No Service matches')`)
	b.press(kb.Escape)
}

// keyboardOpensAService checks that the keyboard opens a Service, moves in its graph and goes back.
func (b *tab) keyboardOpensAService() {
	b.t.Helper()
	eval[chromedp.Void](b, `document.activeElement.blur()`)
	b.press("/")
	b.waitFor(`document.activeElement.id === 'search'`)
	b.press(kb.ArrowDown)
	b.waitFor(`document.activeElement.id === 'services'`)
	b.press(kb.ArrowDown, kb.ArrowDown, kb.Enter)
	b.waitFor(`document.querySelector('#details-heading')?.innerText.includes('checkout')`)
	for _, part := range []string{"Accepted: True", "Programmed: True", "Nothing to do", "Load balancer"} {
		if !eval[bool](b, fmt.Sprintf(`document.querySelector('.details').innerText.includes(%q)`, part)) {
			b.t.Errorf("%q is not among the details:\n%s", part, b.text(".details"))
		}
	}
	eval[chromedp.Void](b, `document.querySelector('.canvas .node').focus()`)
	b.press(kb.ArrowRight, kb.ArrowRight, kb.ArrowRight, kb.ArrowRight, kb.Enter)
	b.waitFor(`document.querySelector('.card h3').innerText === 'Member' && document.querySelector('.facts').innerText.includes('worker-')`)
	b.press(kb.Escape)
	b.waitFor(`document.querySelector('.overview') !== null && document.activeElement.id === 'search'`)
}

// changesAppear checks that a new Service and a failed member appear without a reload.
func (b *tab) changesAppear() {
	b.t.Helper()
	b.addServices(name{"shop", "wishlist"})
	b.waitFor(listed + ` === 4`)
	b.waitUntilProgrammed()
	all := b.readMembers(4)
	b.report(all["shop/wishlist"], 0)
	b.report(all["media/images"], 1)
	b.waitFor(`document.querySelectorAll('#services .icon.warning').length === 1 && document.querySelectorAll('#services .icon.ok').length === 3`)
	b.click(".filter.warning")
	b.waitFor(listed + ` === 1`)
	b.click("#services [role=option]")
	b.waitFor(`document.querySelector('.reasons')?.innerText.includes('1 of 3 members')`)
	b.press(kb.Escape)
	b.click(".filter.all")
	if err := b.client.CoreV1().Services("shop").Delete(b.t.Context(), "wishlist", metav1.DeleteOptions{}); err != nil {
		b.t.Fatal(err)
	}
	b.waitFor(listed + ` === 3`)
}

// coloursFollow checks that the colours follow the system and the button.
func (b *tab) coloursFollow() {
	b.t.Helper()
	const background = `getComputedStyle(document.body).backgroundColor`
	b.prefer("light")
	light := eval[string](b, background)
	b.prefer("dark")
	dark := eval[string](b, background)
	if light == dark {
		b.t.Errorf("both are %s", light)
	}
	b.click(".theme")
	b.waitFor(background + fmt.Sprintf(` === %q`, light))
	b.click(".theme")
	b.prefer("light")
	b.waitFor(background + fmt.Sprintf(` === %q`, dark))
	b.click(".theme")
}

// many are names for so many Services, as in a cluster of a shop.
func many(n int) (all []name) {
	namespaces := []string{"shop", "media", "payments", "observability", "platform", "search", "logistics", "accounts"}
	services := []string{"api", "checkout", "catalogue", "images", "ingress", "gateway", "webhooks", "ledger", "reports", "grafana", "stream", "mail", "auth"}
	for i := range n {
		at := name{namespaces[i%len(namespaces)], services[i/len(namespaces)%len(services)]}
		if round := i / len(namespaces) / len(services); round > 0 {
			at.name = fmt.Sprintf("%s-%d", at.name, round+1)
		}
		all = append(all, at)
	}
	return all
}

func TestTwoHundredServicesAreShown(t *testing.T) {
	chromium(t)
	w := newWorld(t)
	w.addServices(many(200)...)
	w.waitUntilProgrammed()
	all := w.readMembers(200)
	for _, s := range all {
		w.report(s, 0)
	}
	w.report(all["media/checkout"], 1)
	w.report(all["accounts/gateway"], 3)
	w.cloud.Octavia().HoldPending(all["payments/ledger"].LoadBalancer.ID)
	w.change("payments", "ledger")

	tab := w.open()
	tab.waitFor(listed + ` === 200 && document.querySelectorAll('#services .icon.ok').length === 197`)
	tab.waitFor(`document.querySelectorAll('.overview .group').length === 200`)
	tab.requireListed("accounts/gateway", "media/checkout", "payments/ledger", "accounts/api")
	tab.requireFits()
	tab.screenshot("200-services")
	eval[chromedp.Void](tab, `location.hash = 'media%2Fcheckout'`)
	tab.waitFor(`document.querySelector('#details-heading')?.innerText.includes('checkout') && document.querySelectorAll('.canvas .node').length > 5`)
	tab.requireNoComplaints()
	w.cloud.Octavia().Release(all["payments/ledger"].LoadBalancer.ID)
}

// change adds a port to a Service.
func (w *world) change(namespace, name string) {
	w.t.Helper()
	services := w.client.CoreV1().Services(namespace)
	s, err := services.Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	next := s.Spec.Ports[0]
	next.Name, next.Port, next.NodePort = "more", 8443, 0
	s.Spec.Ports = append(s.Spec.Ports, next)
	if _, err := services.Update(w.t.Context(), s, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}
