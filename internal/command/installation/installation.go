// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package installation publishes the settings of a controller in a ConfigMap next to its Lease, and finds them for the
// commands, which then need no flags. The ConfigMap contains no login: a command takes that from the environment or from the
// Secret with cloud.conf.
package installation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
)

// Label marks the ConfigMaps. Its value is the version of their keys.
const (
	Label   = "kube-octavia.io/controller-settings"
	version = "v1"
)

// suffix follows the name of the Lease in the name of the ConfigMap.
const suffix = "-settings"

// leaseNameFlag is the flag with the name of the Lease.
const leaseNameFlag = "leader-elect-resource-name"

// Flags are the flags of the controller that are published. Commands with flags of these names take over their values.
var Flags = []string{"cluster-name", "load-balancer-class", "handle-default-class", "adopt", "controllers", "cluster-cidr", leaseNameFlag}

// The other keys of the ConfigMap.
const (
	versionKey   = "version"
	secretKey    = "cloud-config-secret"
	secretKeyKey = "cloud-config-key"
	regionKey    = "region"
	projectKey   = "project-id"
	confKey      = "cloud.conf"
)

// Settings are the settings of one controller.
type Settings struct {
	// Namespace is the namespace of the ConfigMap, the Lease and the Secret.
	Namespace string
	// Flags has the values of the flags, as on a command line.
	Flags map[string]string
	// Version is the version of the controller.
	Version string
	// Secret is the name of the Secret with cloud.conf, or "" if that is unknown, and SecretKey the key in it.
	Secret, SecretKey string
	// Region is the region of the endpoints, or "".
	Region string
	// ProjectID is the project in the cloud; "" as long as the controller is not connected.
	ProjectID string
	// CloudConf is cloud.conf without the login; see config.Public.
	CloudConf string
}

// Lease returns the name of the controller's Lease.
func (s Settings) Lease() othercontroller.LeaseName {
	return othercontroller.LeaseName{Namespace: s.Namespace, Name: s.Flags[leaseNameFlag]}
}

// Name returns the name of the ConfigMap.
func (s Settings) Name() string { return s.Flags[leaseNameFlag] + suffix }

// String returns namespace/name of the ConfigMap.
func (s Settings) String() string { return s.Namespace + "/" + s.Name() }

// ConfigMap returns the ConfigMap with the settings.
func (s Settings) ConfigMap() *corev1.ConfigMap {
	data := map[string]string{}
	for _, name := range Flags {
		data[name] = s.Flags[name]
	}
	for key, value := range map[string]string{versionKey: s.Version, secretKey: s.Secret, secretKeyKey: s.SecretKey, regionKey: s.Region, projectKey: s.ProjectID, confKey: s.CloudConf} {
		if value != "" {
			data[key] = value
		}
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: s.Name(), Labels: map[string]string{Label: version, "app.kubernetes.io/name": "kube-octavia"}},
		Data:       data,
	}
}

// Parse returns the settings in a ConfigMap.
func Parse(m *corev1.ConfigMap) (Settings, error) {
	s := Settings{Namespace: m.Namespace, Flags: map[string]string{}, Version: m.Data[versionKey], Secret: m.Data[secretKey], SecretKey: m.Data[secretKeyKey],
		Region: m.Data[regionKey], ProjectID: m.Data[projectKey], CloudConf: m.Data[confKey]}
	for _, name := range Flags {
		if value, published := m.Data[name]; published {
			s.Flags[name] = value
		}
	}
	where := "ConfigMap " + m.Namespace + "/" + m.Name
	switch {
	case m.Labels[Label] != version:
		return s, fmt.Errorf("%s does not have the settings of a controller of this version: label %s is %q, not %s", where, Label, m.Labels[Label], version)
	case s.Name() != m.Name:
		return s, fmt.Errorf("%s does not have the settings of a controller: %s is %q, which does not fit the name of the ConfigMap", where, leaseNameFlag, s.Flags[leaseNameFlag])
	}
	return s, nil
}

// ErrNone means that no controller publishes its settings.
var ErrNone = errors.New("no controller publishes its settings in a ConfigMap with label " + Label)

// Candidates are the settings in the ConfigMaps of a cluster, and the Leases that show which
// controllers work.
type Candidates struct {
	Settings []Settings
	// Unreadable has the problem of each other ConfigMap with the label.
	Unreadable []string
	// Alive are the Leases that are renewed. LeasesUnknown is whether they may not be listed.
	Alive         []othercontroller.LeaseName
	LeasesUnknown bool
}

// Choice is the controller whose settings a command takes over.
type Choice struct {
	Settings Settings
	// Doubts are sentences for users: what may be wrong with the choice, and what was ignored.
	Doubts []string
}

// Choose returns the only settings or, if there are several, those of the only controller that works. The error names
// all of them, so that the user can choose one with flag --settings.
func (c Candidates) Choose() (Choice, error) {
	var doubts []string
	for _, why := range c.Unreadable {
		doubts = append(doubts, why+".")
	}
	working := slices.DeleteFunc(slices.Clone(c.Settings), func(s Settings) bool { return !slices.Contains(c.Alive, s.Lease()) })
	switch {
	case len(c.Settings) == 0 && len(doubts) > 0:
		return Choice{}, fmt.Errorf("%w that can be used: %s", ErrNone, strings.Join(c.Unreadable, "; "))
	case len(c.Settings) == 0:
		return Choice{}, ErrNone
	case len(working) == 1:
		return Choice{Settings: working[0], Doubts: doubts}, nil
	case len(c.Settings) == 1:
		s := c.Settings[0]
		if !c.LeasesUnknown {
			doubts = append(doubts, fmt.Sprintf("No controller renews Lease %s: the controller is stopped or was removed, or it runs without leader election.", s.Lease()))
		}
		return Choice{Settings: s, Doubts: doubts}, nil
	case len(working) == 0:
		working = c.Settings
	}
	var names []string
	for _, s := range working {
		names = append(names, "--settings="+s.String())
	}
	slices.Sort(names)
	return Choice{}, fmt.Errorf("several controllers publish their settings: choose one of %s", strings.Join(names, ", "))
}
