// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/installation"
	cloudconfig "github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// publishedFlags returns the values of the flags that commands take over, as one would write them.
func publishedFlags(flags *pflag.FlagSet) map[string]string {
	values := map[string]string{}
	for _, name := range installation.Flags {
		flag := flags.Lookup(name)
		values[name] = flag.Value.String()
		if list, isList := flag.Value.(pflag.SliceValue); isList {
			values[name] = strings.Join(list.GetSlice(), ",")
		}
	}
	return values
}

// publishes reports whether the controller publishes its settings. It does if it has a namespace of its own: from
// leader election, from the flag or from its Pod.
func (o *controllerOptions) publishes() bool {
	_, err := os.Stat(namespaceFile)
	return o.leaderElect || o.leaseNamespace != "" || err == nil
}

// publish lets the manager publish the settings of the controller for the commands, and returns the function to call
// when the project in the cloud is known.
func (o *controllerOptions) publish(m manager.Manager, cloud cloudconfig.Config, version string, log logr.Logger) (connected func(projectID string), _ error) {
	if !o.publishes() {
		return func(string) {}, nil
	}
	text, err := os.ReadFile(o.connection.CloudConfig)
	if err != nil {
		return nil, fmt.Errorf("read the cloud configuration: %w", err)
	}
	public, err := cloudconfig.Public(text)
	if err != nil {
		return nil, err
	}
	s := installation.Settings{
		Namespace: o.namespace(), Flags: o.published, Version: command.Version(version),
		Secret: o.cloudConfigSecret, SecretKey: filepath.Base(o.connection.CloudConfig), Region: cloud.Global.Region, CloudConf: public,
	}
	publisher := installation.NewPublisher(m.GetClient(), m.GetAPIReader(), s, log)
	return publisher.Connected, m.Add(publisher)
}
