// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/installation"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// errNoCloudConfig is the problem of a command without --cloud-config that finds no settings.
var errNoCloudConfig = errors.New("--cloud-config is required: the path of cloud.conf")

// loginHint explains how to log in without --cloud-config.
const loginHint = "set $OS_CLOUD or the variables of an openrc file, or --cloud-config"

// found is the configuration that a command uses instead of the file of --cloud-config.
type found struct {
	settings installation.Settings
	// name is where cloud.conf comes from, for messages, and read reads it.
	name   string
	origin config.Origin
	read   func() (config.Config, error)
}

// AddSettingsFlags is for commands that use the settings of the controller if there is no --cloud-config. Call it after
// the other flags of the connection were added.
func (o *Options) AddSettingsFlags(flags *pflag.FlagSet) {
	o.findsSettings = true
	o.AddContextFlag(flags)
	flags.StringVar(&o.settings, "settings", "", "namespace and name of the ConfigMap with the settings of the controller; needed if several controllers have one")
	flags.Lookup("cloud-config").Usage = "path of cloud.conf; default: the settings of the controller in the cluster, and the login of $OS_CLOUD, of an openrc file, or of the controller's Secret"
}

// RequireCloudConfig makes Check report that --cloud-config is missing: this run of the command does not use settings
// of the controller.
func (o *Options) RequireCloudConfig() { o.findsSettings = false }

// FindSettings uses the settings of the controller in the cluster, unless --cloud-config is set: cloud.conf, and the
// flags that were not given. note tells the user what was found where. The login is that of the environment, if there
// is one, or else that of the Secret of the controller. If it cannot be read, LoadConfig returns the error.
func (o *Options) FindSettings(ctx context.Context, flags *pflag.FlagSet, getenv func(string) string, note func(string)) error {
	if o.CloudConfig != "" {
		return nil
	}
	cluster, err := kubeconfig.Load(o.Kubeconfig, o.Context)
	if err != nil {
		return unfound(err)
	}
	limited := rest.CopyConfig(cluster.REST)
	limited.Timeout = cmp.Or(o.kubernetesLimit, defaultKubernetesLimit)
	reader, err := client.New(limited, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return unfound(cluster.Explain(err))
	}
	choice, err := o.chooseSettings(ctx, reader, cluster.Explain)
	if err != nil {
		return err
	}
	if err := takeOver(choice.Settings, flags); err != nil {
		return err
	}
	o.found = &found{settings: choice.Settings}
	o.found.chooseLogin(ctx, reader, getenv)
	if o.found.origin == config.FromEnvironment && choice.Settings.ProjectID == "" {
		choice.Doubts = append(choice.Doubts, "The controller has not connected to the cloud yet, so it is unknown whether this login is for its project.")
	}
	note(strings.Join(append([]string{fmt.Sprintf("Settings: ConfigMap %s of the controller. Login: %s.", choice.Settings, o.found.name)}, choice.Doubts...), " "))
	return nil
}

// defaultKubernetesLimit limits the duration of each call of the search for settings.
const defaultKubernetesLimit = 30 * time.Second

// unfound returns the error of a command that finds no settings.
func unfound(why error) error {
	return fmt.Errorf("%w; without it, a command uses the settings of the controller, but %w", errNoCloudConfig, why)
}

// chooseSettings returns the settings that flag --settings names, or those of the only controller. explain adds advice
// to an error of Kubernetes.
func (o *Options) chooseSettings(ctx context.Context, reader client.Reader, explain func(error) error) (installation.Choice, error) {
	if o.settings != "" {
		namespace, name, _ := strings.Cut(o.settings, "/")
		m, err := installation.Get(ctx, reader, types.NamespacedName{Namespace: namespace, Name: name})
		if err != nil {
			return installation.Choice{}, unfound(explain(err))
		}
		s, err := installation.Parse(m)
		return installation.Choice{Settings: s}, err
	}
	candidates, err := installation.List(ctx, reader)
	if err != nil {
		return installation.Choice{}, unfound(explain(err))
	}
	choice, err := candidates.Choose()
	if errors.Is(err, installation.ErrNone) {
		err = unfound(err)
	}
	return choice, err
}

// CheckController returns an error if the settings are those of a ConfigMap that no flag names. Any user who may write
// ConfigMaps and Leases in some namespace can publish settings, so a command that deletes must not trust settings that
// it found by itself.
func (o *Options) CheckController() error {
	if o.found == nil || o.settings != "" {
		return nil
	}
	s := o.found.settings
	return fmt.Errorf("ConfigMap %s determines what is deleted, and was found without being named: if it is the ConfigMap of your controller, add --settings=%s", s, s)
}

// takeOver sets the flags that the command and the controller have in common, except those that
// were given.
func takeOver(s installation.Settings, flags *pflag.FlagSet) error {
	values := map[string]string{"leader-elect-resource-namespace": s.Namespace}
	for name, value := range s.Flags {
		values[name] = value
	}
	for name, value := range values {
		flag := flags.Lookup(name)
		if flag == nil || flag.Changed {
			continue
		}
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			if err := list.Replace(splitList(value)); err != nil {
				return fmt.Errorf("ConfigMap %s: %s %q: %w", s, name, value, err)
			}
			continue
		}
		if err := flag.Value.Set(value); err != nil {
			return fmt.Errorf("ConfigMap %s: %s %q: %w", s, name, value, err)
		}
	}
	return nil
}

// splitList returns the elements of a list of flags; none for "".
func splitList(value string) []string {
	if value == "" {
		return []string{}
	}
	return strings.Split(value, ",")
}

// chooseLogin chooses the source of the login.
func (f *found) chooseLogin(ctx context.Context, reader client.Reader, getenv func(string) string) {
	s := f.settings
	f.origin = config.FromEnvironment
	switch {
	case getenv("OS_CLOUD") != "":
		f.name = fmt.Sprintf("$OS_CLOUD (%s)", getenv("OS_CLOUD"))
	case getenv("OS_AUTH_URL") != "":
		f.name = "the environment ($OS_AUTH_URL and others)"
	case s.Secret == "":
		f.name, f.origin = "unknown", config.FromSecret
		f.read = func() (config.Config, error) {
			return config.Config{}, fmt.Errorf("ConfigMap %s does not name the Secret with cloud.conf, because --cloud-config-secret of the controller is not set: %s", s, loginHint)
		}
		return
	default:
		f.name, f.origin = s.SecretName(), config.FromSecret
		f.read = func() (config.Config, error) {
			c, err := s.ReadSecret(ctx, reader)
			if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
				err = fmt.Errorf("%w: %s", err, loginHint)
			}
			return c, err
		}
		return
	}
	f.read = func() (config.Config, error) { return withLogin(s, getenv) }
}

// withLogin combines the settings of the controller with the login of the environment.
func withLogin(s installation.Settings, getenv func(string) string) (config.Config, error) {
	login, err := config.LoadLogin("", s.Region, getenv)
	if err != nil {
		return config.Config{}, fmt.Errorf("read the login of the environment: %w", err)
	}
	if region := login.Global.Region; s.Region != "" && region != s.Region {
		return config.Config{}, fmt.Errorf("the login of the environment is for region %s, and the controller works in region %s: unset $OS_REGION_NAME", region, s.Region)
	}
	name := "ConfigMap " + s.String()
	text, err := config.WithGlobal([]byte(s.CloudConf), login.Global)
	if err != nil {
		return config.Config{}, fmt.Errorf("%s: %w", name, err)
	}
	c, err := config.Parse(name, []byte(text))
	c.Notices = append(login.Notices, c.Notices...)
	return c, err
}

// checkProject returns an error if the login is for another project than that of the controller. With such a login, all
// objects would seem to be missing.
func (f *found) checkProject(session *openstack.Session) error {
	want, got := f.settings.ProjectID, session.ProjectID()
	if want == "" || got == want {
		return nil
	}
	advice := "use a login for that project, or unset the variables OS_* to use that of the controller"
	if f.origin == config.FromSecret {
		advice = "correct the Secret if this project is wrong; if it is right, the controller publishes it as soon as it has connected"
	}
	return &openstack.Error{Class: openstack.Invalid, Advice: advice,
		Message: fmt.Sprintf("the login of %s is for project %s, and the controller works in project %s", f.name, got, want)}
}
