// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/command/connection"
	"github.com/kube-octavia/kube-octavia/internal/command/output"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
)

// completer is the name under which kubectl calls a program to complete the arguments of plugin octavia.
const completer = "kubectl_complete-octavia"

// completionLimit is the longest time that a shell waits for names.
const completionLimit = 3 * time.Second

// describeCompletion adds to the help how kubectl completes the arguments of its plugin. Call it after all commands
// were added.
func describeCompletion(root *cobra.Command, asPlugin bool) {
	root.InitDefaultCompletionCmd()
	if !asPlugin {
		return
	}
	c, _, err := root.Find([]string{"completion"})
	if err != nil {
		return
	}
	c.Long += "\nThe scripts are for " + root.Name() + ". The completion of kubectl completes `kubectl octavia` as well, if " + completer + "\n" +
		"in $PATH is a link to this program:\n\n" +
		"  ln -s \"$(command -v kubectl-octavia)\" /usr/local/bin/" + completer + "\n"
}

// completeFormats lets shells complete the values of --output.
func completeFormats(c *cobra.Command, formats output.Formats) {
	var values []cobra.Completion
	for _, f := range formats {
		values = append(values, string(f))
	}
	register(c, "output", cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// register adds the completion of a flag. The command must have the flag.
func register(c *cobra.Command, flag string, complete cobra.CompletionFunc) {
	if err := c.RegisterFlagCompletionFunc(flag, complete); err != nil {
		panic(err) // the command lacks the flag, or it is registered twice: every run fails, also of the first test
	}
}

// completeServices lets shells complete the Services of a command, and its namespaces and contexts.
func completeServices(c *cobra.Command, from *connection.Options) {
	c.ValidArgsFunction = func(c *cobra.Command, args []string, prefix string) ([]cobra.Completion, cobra.ShellCompDirective) {
		namespace, _ := c.Flags().GetString("namespace")
		return named(c.Context(), from, func(ctx context.Context, reader client.Reader, contextNamespace string) ([]string, error) {
			return serviceNames(ctx, reader, serviceArguments{prefix, namespace, contextNamespace, args})
		})
	}
	register(c, "namespace", func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return named(c.Context(), from, func(ctx context.Context, reader client.Reader, _ string) ([]string, error) {
			return namespaceNames(ctx, reader)
		})
	})
	register(c, "context", func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return kubeconfig.Contexts(from.Kubeconfig), cobra.ShellCompDirectiveNoFileComp
	})
}

// named returns the names that list reads from the cluster, or none if that fails.
func named(ctx context.Context, from *connection.Options, list func(context.Context, client.Reader, string) ([]string, error)) ([]cobra.Completion, cobra.ShellCompDirective) {
	const failed = cobra.ShellCompDirectiveError | cobra.ShellCompDirectiveNoFileComp
	cluster, err := kubeconfig.Load(from.Kubeconfig, from.Context)
	if err != nil {
		return nil, failed
	}
	reader, err := client.New(cluster.REST, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return nil, failed
	}
	ctx, cancel := context.WithTimeout(ctx, completionLimit)
	defer cancel()
	names, err := list(ctx, reader, cluster.Namespace())
	if err != nil {
		return nil, failed
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// serviceArguments describe the command line: the beginning of the next argument, --namespace, the namespace of the
// kubeconfig's context, and the arguments before.
type serviceArguments struct {
	prefix, namespace, contextNamespace string
	before                              []string
}

// serviceNames returns the arguments that name a Service of type LoadBalancer and begin with what the user
// has typed.
func serviceNames(ctx context.Context, reader client.Reader, a serviceArguments) ([]string, error) {
	key, err := serviceKey(a.prefix+"-", a.namespace, a.contextNamespace) // the prefix may be empty
	if err != nil {
		return nil, nil
	}
	var services corev1.ServiceList
	if err := reader.List(ctx, &services, client.InNamespace(key.Namespace)); err != nil {
		return nil, err
	}
	before := a.prefix[:strings.LastIndex(a.prefix, "/")+1]
	var names []string
	for _, s := range services.Items {
		name := before + s.Name
		if s.Spec.Type == corev1.ServiceTypeLoadBalancer && strings.HasPrefix(name, a.prefix) && !slices.Contains(a.before, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// namespaceNames returns the names of all namespaces.
func namespaceNames(ctx context.Context, reader client.Reader) (names []string, _ error) {
	var namespaces corev1.NamespaceList
	if err := reader.List(ctx, &namespaces); err != nil {
		return nil, err
	}
	for _, n := range namespaces.Items {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return names, nil
}
