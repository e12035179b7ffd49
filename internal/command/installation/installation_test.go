// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
)

// settingsIn returns those of a controller whose Lease has the name in the namespace.
func settingsIn(namespace, lease string) Settings {
	return Settings{
		Namespace: namespace, Version: "v1.2.3", Secret: "cloud-config", SecretKey: "cloud.conf", Region: "r", ProjectID: "p", CloudConf: "[LoadBalancer]\n",
		Flags: map[string]string{"cluster-name": "prod", "load-balancer-class": "example.com/x", "handle-default-class": "false", "adopt": "tag",
			"controllers": "service,route", "cluster-cidr": "10.244.0.0/16", leaseNameFlag: lease},
	}
}

func TestSettingsSurviveTheirConfigMap(t *testing.T) {
	want := settingsIn("system", "east")
	m := want.ConfigMap()
	got, err := Parse(m)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if m.Namespace != "system" || m.Name != "east-settings" || got.Lease() != (othercontroller.LeaseName{Namespace: "system", Name: "east"}) {
		t.Errorf("ConfigMap %s/%s, Lease %s", m.Namespace, m.Name, got.Lease())
	}
}

func TestConfigMapThatIsNotOfAControllerIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*corev1.ConfigMap)
		want string
	}{
		"no label":       {func(m *corev1.ConfigMap) { m.Labels = nil }, `label kube-octavia.io/controller-settings is "", not v1`},
		"another format": {func(m *corev1.ConfigMap) { m.Labels[Label] = "v2" }, `is "v2", not v1`},
		"another name":   {func(m *corev1.ConfigMap) { m.Name = "other" }, `leader-elect-resource-name is "east", which does not fit`},
		"no data":        {func(m *corev1.ConfigMap) { m.Data = nil }, `leader-elect-resource-name is ""`},
	} {
		t.Run(name, func(t *testing.T) {
			m := settingsIn("system", "east").ConfigMap()
			test.edit(m)
			if _, err := Parse(m); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

func TestWorkingControllerIsChosenOfSeveral(t *testing.T) {
	a, b, c := settingsIn("a", "x"), settingsIn("b", "x"), settingsIn("c", "x")
	const stopped = "No controller renews Lease a/x: the controller is stopped or was removed, or it runs without leader election."
	for name, test := range map[string]struct {
		found  []Settings
		alive  []othercontroller.LeaseName
		edit   func(*Candidates)
		want   string
		doubts []string
		err    string
	}{
		"none":                      {err: ErrNone.Error()},
		"one that works":            {found: []Settings{a}, alive: []othercontroller.LeaseName{a.Lease()}, want: "a/x-settings"},
		"one that does not work":    {found: []Settings{a}, want: "a/x-settings", doubts: []string{stopped}},
		"one, and no right":         {found: []Settings{a}, edit: func(c *Candidates) { c.LeasesUnknown = true }, want: "a/x-settings"},
		"one works":                 {found: []Settings{a, b, c}, alive: []othercontroller.LeaseName{b.Lease()}, want: "b/x-settings"},
		"two work":                  {found: []Settings{c, b, a}, alive: []othercontroller.LeaseName{a.Lease(), c.Lease()}, err: "choose one of --settings=a/x-settings, --settings=c/x-settings"},
		"none works":                {found: []Settings{a, b}, err: "choose one of --settings=a/x-settings, --settings=b/x-settings"},
		"another without ConfigMap": {found: []Settings{a, b}, alive: []othercontroller.LeaseName{c.Lease()}, err: "choose one of"},
		"one beside a bad one": {found: []Settings{a}, alive: []othercontroller.LeaseName{a.Lease()}, edit: func(c *Candidates) { c.Unreadable = []string{"d/y is bad"} },
			want: "a/x-settings", doubts: []string{"d/y is bad."}},
		"only a bad one": {edit: func(c *Candidates) { c.Unreadable = []string{"d/y is bad"} }, err: ErrNone.Error() + " that can be used: d/y is bad"},
	} {
		t.Run(name, func(t *testing.T) {
			candidates := Candidates{Settings: slices.Clone(test.found), Alive: test.alive}
			if test.edit != nil {
				test.edit(&candidates)
			}
			got, err := candidates.Choose()
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("%v, want %s", err, test.err)
				}
				return
			}
			if d := cmp.Diff([]any{test.want, test.doubts}, []any{got.Settings.String(), got.Doubts}); d != "" || err != nil {
				t.Errorf("%v (-want +got):\n%s", err, d)
			}
		})
	}
}

// forbidden is the answer to a user without a right.
var forbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no"))

// refusing lets a client refuse lists of ConfigMaps.
func refusing(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
		if _, isConfigMaps := list.(*corev1.ConfigMapList); isConfigMaps {
			return forbidden
		}
		return c.List(ctx, list, options...)
	}})
}

func TestTheControllerOfTheClusterIsFound(t *testing.T) {
	working := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "b", Name: "x", Labels: map[string]string{othercontroller.ClassLabel: "c"}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("pod"), RenewTime: ptr.To(metav1.NewMicroTime(time.Now())), LeaseDurationSeconds: ptr.To[int32](15)}}
	unmarked := settingsIn("other", "x").ConfigMap()
	unmarked.Labels = nil
	renamed := settingsIn("other", "x").ConfigMap()
	renamed.Name = "copy"
	for name, test := range map[string]struct {
		objects []client.Object
		refuse  bool
		want    string
		err     string
	}{
		"by its label":                {[]client.Object{settingsIn("anywhere", "x").ConfigMap(), unmarked}, false, "anywhere/x-settings", ""},
		"beside one that is bad":      {[]client.Object{settingsIn("anywhere", "x").ConfigMap(), renamed}, false, "anywhere/x-settings", ""},
		"not by a bad one alone":      {[]client.Object{renamed}, false, "", "ConfigMap other/copy does not have the settings of a controller"},
		"by its Lease":                {[]client.Object{settingsIn("a", "x").ConfigMap(), settingsIn("b", "x").ConfigMap(), working}, false, "b/x-settings", ""},
		"by the usual name":           {[]client.Object{settingsIn("kube-octavia", "kube-octavia").ConfigMap()}, true, "kube-octavia/kube-octavia-settings", ""},
		"outside the cluster":         {[]client.Object{settingsIn("kube-system", "kube-octavia").ConfigMap()}, true, "kube-system/kube-octavia-settings", ""},
		"not at all":                  {nil, false, "", ErrNone.Error()},
		"not by a user without right": {[]client.Object{settingsIn("anywhere", "x").ConfigMap()}, true, "", "name it with --settings"},
	} {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithObjects(test.objects...).Build()
			if test.refuse {
				c = refusing(c)
			}
			var chosen Choice
			candidates, err := List(t.Context(), c)
			if err == nil {
				chosen, err = candidates.Choose()
			}
			got := chosen.Settings
			if test.err == "" && (err != nil || got.String() != test.want) || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)) {
				t.Errorf("%s, %v; want %s, %s", got, err, test.want, test.err)
			}
		})
	}
	if _, err := Get(t.Context(), fake.NewClientBuilder().Build(), types.NamespacedName{Namespace: "a", Name: "b"}); !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "read ConfigMap a/b (--settings)") {
		t.Errorf("one that is not there: %v", err)
	}
}

func TestACloudConfOfASecretIsReadWithoutTheFilesOfThePod(t *testing.T) {
	const login = "[Global]\nauth-url = https://k/v3\nuser-id = u\npassword = hunter2\n"
	for name, test := range map[string]struct {
		conf string
		keys map[string][]byte
		ca   string
		err  string
	}{
		"no files":                      {login, nil, "", ""},
		"a CA of the Secret":            {login + "ca-file = /etc/kube-octavia/ca.crt\n", map[string][]byte{"ca.crt": []byte("PEM")}, "PEM", ""},
		"a CA of the Pod":               {login + "ca-file = /etc/ssl/ca.crt\n", nil, "", "Secret a/b: [Global] ca-file /etc/ssl/ca.crt is a file of the controller, and the Secret has no key ca.crt"},
		"a certificate":                 {login + "cert-file = /c.crt\nkey-file = /c.key\n", nil, "", "[Global] cert-file is a file of the controller"},
		"clouds.yaml":                   {"[Global]\nuse-clouds = true\n", nil, "", "clouds.yaml is a file of the controller: set $OS_CLOUD"},
		"what the controller refuses":   {login + "passwrod = hunter2\n", nil, "", `Secret a/b:5: [Global] unknown key "passwrod"`},
		"a CA, but in the text as well": {login + "cafilecontents = PEM\n", nil, "PEM", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := ParseSecret("Secret a/b", []byte(test.conf), test.keys)
			if test.err == "" && err != nil || test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("%v, want %q", err, test.err)
			}
			if c.Global.CAFile != "" || c.Global.CAFileContents != test.ca {
				t.Errorf("CA %q, %q", c.Global.CAFile, c.Global.CAFileContents)
			}
		})
	}
}

// published returns the settings in the ConfigMap of the Lease.
func published(t *testing.T, c client.Client) Settings {
	t.Helper()
	m, err := Get(t.Context(), c, types.NamespacedName{Namespace: "system", Name: "east-settings"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := Parse(m)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestThePublisherKeepsTheProjectUntilItIsKnownAgain(t *testing.T) {
	old := settingsIn("system", "east")
	old.Flags["cluster-name"], old.Version, old.ProjectID = "old", "v0", "before"
	c := fake.NewClientBuilder().WithObjects(old.ConfigMap()).Build()
	s := settingsIn("system", "east")
	s.ProjectID = ""
	p := NewPublisher(c, c, s, logr.Discard())
	if err := p.write(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ProjectID = "before"
	if d := cmp.Diff(s, published(t, c)); d != "" {
		t.Errorf("not connected yet (-want +got):\n%s", d)
	}
	p.Connected("project")
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.ProjectID = "project"
	if d := cmp.Diff(s, published(t, c)); d != "" {
		t.Errorf("connected (-want +got):\n%s", d)
	}
}

func TestPublisherOverwritesNoConfigMapOfOtherOwners(t *testing.T) {
	others := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "east-settings"}, Data: map[string]string{"mine": "x"}}
	c := fake.NewClientBuilder().WithObjects(others).Build()
	err := NewPublisher(c, c, settingsIn("system", "east"), logr.Discard()).write(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ConfigMap system/east-settings is not one with settings of a controller: it has no label "+Label) {
		t.Error(err)
	}
	left, err := Get(t.Context(), c, types.NamespacedName{Namespace: "system", Name: "east-settings"})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(others.Data, left.Data); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestThePublisherEndsWithTheControllerAlsoIfItMayNotWrite(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	tried := make(chan struct{}, 8)
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
		tried <- struct{}{}
		return forbidden
	}})
	ended := make(chan error)
	go func() { ended <- NewPublisher(c, c, settingsIn("system", "east"), logr.Discard()).Start(ctx) }()
	<-tried
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
