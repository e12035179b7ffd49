// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package credentialcommand

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/command/command"
	"github.com/kube-octavia/kube-octavia/internal/command/installation"
	"github.com/kube-octavia/kube-octavia/internal/operate/kubeconfig"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// rotateOptions holds the flags of `kube-octavia credential rotate`.
type rotateOptions struct {
	person
	wish
	secret, kubeconfig, context string
	deleteOldAfter              time.Duration
	keepOld                     bool
}

func newRotate(streams command.IO, version string) *cobra.Command {
	var o rotateOptions
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Replace the application credential in the Secret of a cluster",
		Long: "Creates a new application credential, writes it into the Secret in the cluster, waits, and deletes the old one.\n" +
			"Running controllers use the new one without a restart: kubelet delivers it to their Pods within a minute\n" +
			"or two, so the old one must stay valid that long. The rest of the Secret is not changed.\n" +
			"If the Secret contains a password, the application credential replaces it.",
		Args: command.Args,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), streams, version) },
	}
	o.person.addFlags(c.Flags())
	o.wish.addFlags(c.Flags())
	c.Flags().StringVar(&o.secret, "secret", defaultSecret, "namespace and name of the Secret")
	c.Flags().StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster; default: $KUBECONFIG or ~/.kube/config")
	c.Flags().StringVar(&o.context, "context", "", "context of the kubeconfig; default: its current context")
	c.Flags().DurationVar(&o.deleteOldAfter, "delete-old-after", 5*time.Minute, "how long to wait before deleting the old one")
	c.Flags().BoolVar(&o.keepOld, "keep-old", false, "keep the old one; delete it later with 'kube-octavia credential delete'")
	return c
}

// mounted is the Secret in the cluster, and its parsed cloud.conf.
type mounted struct {
	object corev1.Secret
	conf   config.Config
}

func (o *rotateOptions) run(ctx context.Context, streams command.IO, version string) error {
	name, err := parseSecretName(o.secret)
	if err != nil {
		return err
	}
	login, err := o.login()
	if err != nil {
		return err
	}
	cluster, err := kubeconfig.Load(o.kubeconfig, o.context)
	if err != nil {
		return err
	}
	kube, err := client.New(cluster.REST, client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		return cluster.Explain(err)
	}
	before, err := readSecret(ctx, kube, name)
	if err != nil {
		return cluster.Explain(withPublished(ctx, kube, err))
	}
	session, err := o.connect(ctx, login, version)
	if err != nil {
		return err
	}
	defer session.Close()
	wanted, old, err := o.successor(ctx, session, before.conf.Global)
	if err != nil {
		return err
	}
	made, err := session.CreateApplicationCredential(ctx, wanted)
	if err != nil {
		return err
	}
	if err := before.install(ctx, kube, session, made); err != nil {
		return err
	}
	for _, f := range wanted.Without {
		flag := "--without="
		if slices.Contains(calls.Additional(), f) {
			flag = "--with=" + f.Name()
		}
		fmt.Fprintf(streams.Err, "the application credential does not allow the calls for %s; %s allows them\n", f, flag)
	}
	fmt.Fprintf(streams.Err, "Secret %s now contains application credential %s (%s); %s\n", name, made.ID, made.Name, until(made))
	if old == "" || o.keepOld {
		return nil
	}
	fmt.Fprintf(streams.Err, "the old one, %s, will be deleted in %v\n", old, o.deleteOldAfter)
	if err := o.retire(ctx, session, kube, name, old, made.ID); err != nil {
		return fmt.Errorf("%w; the old application credential still exists; when nothing uses it any more, run: kube-octavia credential delete %s", err, old)
	}
	fmt.Fprintf(streams.Err, "deleted application credential %s\n", old)
	return nil
}

// withPublished adds to the error of a Secret that does not exist the Secrets that the controllers of the cluster
// publish. None of them is used without being named with --secret: otherwise any user who can write a ConfigMap could
// have the new credential written into a Secret of their own.
func withPublished(ctx context.Context, kube client.Reader, err error) error {
	if !apierrors.IsNotFound(err) {
		return err
	}
	candidates, listErr := installation.List(ctx, kube)
	if listErr != nil {
		return fmt.Errorf("%w; name it with --secret", err)
	}
	var published []string
	for _, s := range candidates.Settings {
		if s.Secret != "" {
			published = append(published, fmt.Sprintf("--secret=%s/%s, according to ConfigMap %s", s.Namespace, s.Secret, s))
		}
	}
	if len(published) == 0 {
		return fmt.Errorf("%w; name it with --secret", err)
	}
	slices.Sort(published)
	return fmt.Errorf("%w; name it with --secret: %s", err, strings.Join(published, "; "))
}

// successor returns the application credential to create, and the id of the one that it replaces,
// if there is one. What the flags do not set stays the same.
func (o *rotateOptions) successor(ctx context.Context, session *openstack.Session, g config.Global) (wanted openstack.ApplicationCredential, old string, err error) {
	wanted, err = o.credential(session, time.Now())
	if err != nil {
		return wanted, "", err
	}
	if g.Authentication() != config.ByApplicationCredential {
		return wanted, "", nil
	}
	if g.ApplicationCredentialID == "" {
		return wanted, "", fmt.Errorf("cannot rotate: cloud.conf refers to the application credential %q by name; use its id", g.ApplicationCredentialName)
	}
	was, err := session.ApplicationCredential(ctx, g.ApplicationCredentialID)
	switch {
	case openstack.Classify(err) == openstack.Gone:
		return wanted, "", nil // it was deleted, or has expired
	case err != nil:
		return wanted, "", fmt.Errorf("%w; log in as its owner", err)
	case was.ProjectID != session.ProjectID():
		return wanted, "", fmt.Errorf("application credential %s is for project %s, but you are logged in to project %s", was.ID, was.ProjectID, session.ProjectID())
	case !was.Expires.IsZero() && o.expires == "":
		return wanted, "", fmt.Errorf("application credential %s expires at %s: set --expires for the new one, to a date or never",
			was.ID, was.Expires.Format(time.RFC3339))
	}
	if len(o.roles) == 0 {
		wanted.Roles = was.Roles
	}
	wanted.Without, err = o.leftOut(was.Without)
	if err != nil {
		return wanted, "", err
	}
	return wanted, was.ID, nil
}

// retire waits, and then deletes the old application credential if the Secret still has the new
// one.
func (o *rotateOptions) retire(ctx context.Context, session *openstack.Session, kube client.Client, name types.NamespacedName, old, made string) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(o.deleteOldAfter):
	}
	now, err := readSecret(ctx, kube, name)
	if err != nil {
		return err
	}
	if id := now.conf.Global.ApplicationCredentialID; id != made {
		return fmt.Errorf("the Secret %s no longer contains the new application credential %s", name, made)
	}
	return session.DeleteApplicationCredential(ctx, old)
}

// readSecret reads the Secret and its cloud.conf.
func readSecret(ctx context.Context, kube client.Client, name types.NamespacedName) (mounted, error) {
	var m mounted
	if err := kube.Get(ctx, name, &m.object); err != nil {
		return m, fmt.Errorf("read Secret %s: %w", name, err)
	}
	text, ok := m.object.Data[confKey]
	if !ok {
		return m, fmt.Errorf("the Secret %s has no key %s", name, confKey)
	}
	var err error
	m.conf, err = config.Parse("Secret "+name.String(), text)
	if err != nil {
		return m, err
	}
	if m.conf.Global.UseClouds {
		return m, fmt.Errorf("cannot rotate: cloud.conf in Secret %s takes its login from clouds.yaml (use-clouds)", name)
	}
	return m, nil
}

// How to handle a write to the Secret that gets no answer.
const (
	// installAttempts is the number of attempts: all are the same, and only one of them can
	// succeed.
	installAttempts = 2
	// afterthought limits the time to find out whether the write was carried out.
	afterthought = 10 * time.Second
)

// install writes the application credential into the Secret. If that fails, the credential is
// deleted, but only if the Secret certainly does not have it: a write that got no answer may have
// been carried out.
func (m mounted) install(ctx context.Context, kube client.Client, session *openstack.Session, made openstack.ApplicationCredential) error {
	undo := func(err error) error {
		return errors.Join(err, session.DeleteApplicationCredential(context.WithoutCancel(ctx), made.ID))
	}
	text, err := config.WithGlobal(m.object.Data[confKey], m.conf.Global.WithApplicationCredential(made.ID, made.Secret))
	if err != nil {
		return undo(err)
	}
	for range installAttempts {
		err = m.update(ctx, kube, text)
		if err == nil {
			return nil
		}
		held, known := m.holds(ctx, kube, made.ID, err)
		switch {
		case held:
			return nil
		case known:
			return undo(err)
		}
	}
	return fmt.Errorf("%w; it is unknown whether the Secret contains the new application credential %s, so no credential is deleted: "+
		"check the Secret, then run `kube-octavia credential delete` for the one that it does not contain", err, made.ID)
}

// holds reports whether the Secret has the application credential after a write that failed with
// err. It certainly does not, and never will, if the write was refused, or if the Secret has
// changed since it was read: the write was for the earlier version.
func (m mounted) holds(ctx context.Context, kube client.Client, id string, err error) (held, known bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterthought)
	defer cancel()
	now, readErr := readSecret(ctx, kube, client.ObjectKeyFromObject(&m.object))
	switch {
	case readErr != nil:
		return false, false
	case now.conf.Global.ApplicationCredentialID == id:
		return true, true
	}
	return false, refusedByKubernetes(err) || now.object.ResourceVersion != m.object.ResourceVersion
}

// refusedByKubernetes reports whether the API answered that it did not carry out the request.
func refusedByKubernetes(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	code := answer.Status().Code
	return code >= http.StatusBadRequest && code < http.StatusInternalServerError && code != http.StatusRequestTimeout
}

// update writes cloud.conf into the Secret, unless another client has changed
// the Secret meanwhile.
func (m mounted) update(ctx context.Context, kube client.Client, conf string) error {
	changed := m.object.DeepCopy()
	changed.Data[confKey] = []byte(conf)
	patch := client.MergeFromWithOptions(&m.object, client.MergeFromWithOptimisticLock{})
	if err := kube.Patch(ctx, changed, patch); err != nil {
		return fmt.Errorf("write Secret %s/%s: %w", changed.Namespace, changed.Name, err)
	}
	return nil
}
