// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialcommand

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// createOptions holds the flags of `kube-octavia credential create`.
type createOptions struct {
	person
	wish
	secret, mountPath string
	format, output    string
	file              string
}

// The formats of the manifest.
const (
	yamlFormat = "yaml"
	jsonFormat = "json"
)

// standardOutput stands for standard output in place of the path of a file.
const standardOutput = "-"

func newCreate(streams command.IO, version string) *cobra.Command {
	var o createOptions
	c := &cobra.Command{
		Use:   "create",
		Short: "Create an application credential and print the Secret with it",
		Long: "Creates an application credential for the project of your login and prints the manifest of the controller's\n" +
			"Secret, with cloud.conf and the certificates that it names. The new cloud.conf contains all sections of\n" +
			"--cloud-config except [Global].\n" +
			"\n" +
			"  kube-octavia credential create --cloud-config=cloud.conf | kubectl apply --server-side -f -",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), streams, version) },
	}
	o.person.addFlags(c.Flags())
	o.wish.addFlags(c.Flags())
	c.Flags().StringVar(&o.secret, "secret", defaultSecret, "namespace and name of the Secret")
	c.Flags().StringVar(&o.mountPath, "mount-path", "/etc/kube-octavia", "path at which the controller's Pod mounts the Secret")
	c.Flags().StringVar(&o.format, "format", "secret", "output format: secret for the manifest, or conf for cloud.conf only, for a controller outside a Pod")
	c.Flags().StringVarP(&o.output, "output", "o", yamlFormat, "form of the manifest: yaml or json")
	c.Flags().StringVar(&o.file, "output-file", standardOutput, "output file, readable only by you and written only after success; - is standard output")
	return c
}

// outputIsFile treats a value of --output that is a path as --output-file, as earlier versions did.
func (o *createOptions) outputIsFile(note func(string)) {
	if o.file != standardOutput || o.output != standardOutput && !strings.ContainsAny(o.output, "./") {
		return
	}
	note(fmt.Sprintf("Warning: --output %s: a file is now set with --output-file; --output will only take %s and %s.", o.output, yamlFormat, jsonFormat))
	o.file, o.output = o.output, yamlFormat
}

func (o *createOptions) run(ctx context.Context, streams command.IO, version string) error {
	o.outputIsFile(streams.Note)
	if o.output != yamlFormat && o.output != jsonFormat {
		return fmt.Errorf("--output %q: must be yaml or json", o.output)
	}
	if o.format == "conf" && o.output == jsonFormat {
		return errors.New("--output json: must not be set with --format=conf, which prints no manifest")
	}
	if o.format != "secret" && o.format != "conf" {
		return fmt.Errorf("--format %q: must be secret or conf", o.format)
	}
	name, err := parseSecretName(o.secret)
	if err != nil {
		return err
	}
	login, err := o.login()
	if err != nil {
		return err
	}
	var base []byte
	if o.cloudConfig != "" {
		base, err = os.ReadFile(o.cloudConfig)
		if err != nil {
			return fmt.Errorf("read the cloud configuration: %w", err)
		}
	}
	session, err := o.connect(ctx, login, version)
	if err != nil {
		return err
	}
	defer session.Close()
	wanted, err := o.credential(session, time.Now())
	if err != nil {
		return err
	}
	// Everything that can fail without Keystone is tried before a call to Keystone.
	if _, err := o.files(login, openstack.ApplicationCredential{ID: "id", Secret: "secret"}, base); err != nil {
		return err
	}
	out, err := o.open(streams.Out)
	if err != nil {
		return err
	}
	made, err := session.CreateApplicationCredential(ctx, wanted)
	if err != nil {
		return errors.Join(err, out.discard())
	}
	files, err := o.files(login, made, base)
	text := []byte(files[confKey])
	if err == nil && o.format == "secret" {
		text, err = manifest(name.Namespace, name.Name, files, o.output)
	}
	if err == nil {
		err = out.write(text)
	}
	if err != nil {
		err = errors.Join(err, out.discard())
		// The secret of the credential is lost.
		undo := session.DeleteApplicationCredential(context.WithoutCancel(ctx), made.ID)
		return errors.Join(fmt.Errorf("write application credential %s: %w", made.ID, err), undo)
	}
	fmt.Fprintf(streams.Err, "created application credential %s (%s) for project %s; %s\n", made.ID, made.Name, made.ProjectID, until(made))
	return nil
}

// open opens the output.
func (o *createOptions) open(stdout io.Writer) (*result, error) {
	if o.file == standardOutput {
		return &result{to: stdout}, nil
	}
	return openResult(o.file)
}

// files returns cloud.conf for the application credential, and the files that it names, by the keys
// of the Secret.
func (o *createOptions) files(login config.Global, made openstack.ApplicationCredential, base []byte) (map[string]string, error) {
	g := login.WithApplicationCredential(made.ID, made.Secret)
	files := map[string]string{}
	if o.format == "secret" {
		for key, setting := range map[string]*string{"ca.crt": &g.CAFile, "tls.crt": &g.CertFile, "tls.key": &g.KeyFile} {
			if *setting == "" {
				continue
			}
			text, err := os.ReadFile(*setting)
			if err != nil {
				return nil, fmt.Errorf("read a certificate for the Secret: %w", err)
			}
			files[key], *setting = string(text), path.Join(o.mountPath, key)
		}
	}
	text, err := config.WithGlobal(base, g)
	if err == nil {
		_, err = config.Parse(confKey, []byte(text))
	}
	files[confKey] = text
	return files, err
}

// manifest returns the Secret that holds the files, as YAML or JSON.
func manifest(namespace, name string, files map[string]string, format string) ([]byte, error) {
	secret := map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque",
		"metadata":   map[string]any{"namespace": namespace, "name": name, "labels": map[string]string{"app.kubernetes.io/name": "kube-octavia"}},
		"stringData": files,
	}
	if format == yamlFormat {
		return yaml.Marshal(secret)
	}
	text, err := json.MarshalIndent(secret, "", "  ")
	return append(text, '\n'), err
}
