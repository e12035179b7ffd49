// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// accountDir is the directory with the token of a container's ServiceAccount.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// container is the only container of a Pod. It is run as kubelet would run it, as far as the Pod
// requires.
type container struct {
	client *kubernetes.Clientset
	config *rest.Config
	pod    *corev1.Pod
	image  image

	command *exec.Cmd
	log     bytes.Buffer
	ended   chan struct{}
}

// spec returns the spec of the container.
func (c *container) spec() corev1.Container { return c.pod.Spec.Containers[0] }

// start creates the files of the container and runs its program.
func (c *container) start(ctx context.Context) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := errors.Join(c.mountSecrets(ctx), c.mountAccount(ctx)); err != nil {
		return err
	}
	api, err := url.Parse(c.config.Host)
	if err != nil {
		return err
	}
	arguments := append(append([]string{}, c.image.entrypoint...), c.spec().Args...)
	if len(c.spec().Command) > 0 {
		arguments = append(append([]string{}, c.spec().Command...), c.spec().Args...)
	}
	security := c.pod.Spec.SecurityContext
	c.command = &exec.Cmd{Path: arguments[0], Args: arguments, Dir: c.image.workingDir, Stdout: &c.log, Stderr: &c.log,
		Env: append(c.image.env, "HOSTNAME="+c.pod.Name, "KUBERNETES_SERVICE_HOST="+api.Hostname(), "KUBERNETES_SERVICE_PORT="+api.Port()),
		SysProcAttr: &syscall.SysProcAttr{Chroot: c.image.root, Credential: &syscall.Credential{
			Uid: uint32(*security.RunAsUser), Gid: uint32(*security.RunAsGroup), Groups: []uint32{uint32(*security.FSGroup)}}}}
	for _, v := range c.spec().Env {
		c.command.Env = append(c.command.Env, v.Name+"="+v.Value)
	}
	if err := c.command.Start(); err != nil {
		return err
	}
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		_ = c.command.Wait() // the log has its output
	}()
	return nil
}

// check refuses a Pod that uses a feature which this program does not support.
func (c *container) check() error {
	security := c.pod.Spec.SecurityContext
	if len(c.pod.Spec.Containers) != 1 || len(c.pod.Spec.InitContainers) > 0 || len(c.spec().EnvFrom) > 0 ||
		security == nil || security.RunAsUser == nil || security.RunAsGroup == nil || security.FSGroup == nil {
		return fmt.Errorf("cannot run Pod %s: it uses a feature of kubelet that this program does not support", c.pod.Name)
	}
	for _, v := range c.spec().Env {
		if v.ValueFrom != nil {
			return fmt.Errorf("variable %s of Pod %s has a source that this program does not support", v.Name, c.pod.Name)
		}
	}
	if c.spec().Image != imageName {
		return fmt.Errorf("the container has image %s, but %s was built", c.spec().Image, imageName)
	}
	return nil
}

// mountSecrets writes the Secrets that are volumes to files of the container.
func (c *container) mountSecrets(ctx context.Context) error {
	for _, mount := range c.spec().VolumeMounts {
		for _, v := range c.pod.Spec.Volumes {
			if v.Name != mount.Name {
				continue
			}
			if v.Secret == nil {
				return fmt.Errorf("volume %s of Pod %s is not a Secret", v.Name, c.pod.Name)
			}
			secret, err := c.client.CoreV1().Secrets(c.pod.Namespace).Get(ctx, v.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				return err
			}
			mode := os.FileMode(0o644)
			if v.Secret.DefaultMode != nil {
				mode = os.FileMode(*v.Secret.DefaultMode)
			}
			for name, content := range secret.Data {
				if err := c.write(filepath.Join(mount.MountPath, name), content, mode); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mountAccount writes the token of the ServiceAccount.
func (c *container) mountAccount(ctx context.Context) error {
	hour := int64(time.Hour.Seconds())
	token, err := c.client.CoreV1().ServiceAccounts(c.pod.Namespace).CreateToken(ctx, c.pod.Spec.ServiceAccountName,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &hour}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return errors.Join(
		c.write(accountDir+"/token", []byte(token.Status.Token), 0o640),
		c.write(accountDir+"/ca.crt", c.config.CAData, 0o644),
		c.write(accountDir+"/namespace", []byte(c.pod.Namespace), 0o644),
	)
}

// write writes a file that belongs to root and to the group of the volumes.
func (c *container) write(path string, content []byte, mode os.FileMode) error {
	path = filepath.Join(c.image.root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(path, content, 0o600), os.Chown(path, 0, int(*c.pod.Spec.SecurityContext.FSGroup)), os.Chmod(path, mode))
}

// waitUntilReady waits until the readiness probe succeeds.
func (c *container) waitUntilReady(ctx context.Context) error {
	probe := c.spec().ReadinessProbe.HTTPGet
	port := probe.Port.IntVal
	for _, p := range c.spec().Ports {
		if p.Name == probe.Port.StrVal {
			port = p.ContainerPort
		}
	}
	url := fmt.Sprintf("http://127.0.0.1:%d%s", port, probe.Path)
	return c.poll(ctx, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return false, err
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
}

// poll waits until done returns true. It returns an error if the program ends.
func (c *container) poll(ctx context.Context, done wait.ConditionWithContextFunc) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		select {
		case <-c.ended:
			return false, errors.New("the program in the container has ended")
		default:
			return done(ctx)
		}
	})
}

// stop stops the program. If err is not nil, it adds the end of the program's log.
func (c *container) stop(err error) error {
	if c.ended == nil {
		return err
	}
	_ = c.command.Process.Signal(syscall.SIGTERM) // it may have ended
	<-c.ended
	if err != nil {
		lines := strings.Split(strings.TrimSpace(c.log.String()), "\n")
		return fmt.Errorf("%w\nThe log of the container ends with\n%s", err, strings.Join(lines[max(0, len(lines)-20):], "\n"))
	}
	if status := c.command.ProcessState.ExitCode(); status != 0 {
		return fmt.Errorf("after SIGTERM, the program ended with status %d", status)
	}
	return nil
}
