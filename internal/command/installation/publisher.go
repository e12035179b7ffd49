// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package installation

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// publishRetry is the time between two attempts to write the ConfigMap.
const publishRetry = time.Minute

// Publisher writes the settings of the controller that has the Lease into their ConfigMap.
type Publisher struct {
	client   client.Client
	reader   client.Reader // has no cache
	settings Settings
	log      logr.Logger
	project  chan string
}

// NewPublisher returns a Publisher, which only creates and updates. The reader must not have a
// cache.
func NewPublisher(c client.Client, reader client.Reader, s Settings, log logr.Logger) *Publisher {
	return &Publisher{client: c, reader: reader, settings: s, log: log.WithName("settings"), project: make(chan string, 1)}
}

// Connected sets the project in which the controller works. Call it once.
func (p *Publisher) Connected(projectID string) { p.project <- projectID }

// NeedLeaderElection is true: the settings are those of the leader.
func (p *Publisher) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable. The controller works without the ConfigMap, so a failure is logged once.
func (p *Publisher) Start(ctx context.Context) error {
	logged := false
	project := p.project
	for {
		err := p.write(ctx)
		var retry <-chan time.Time
		if err != nil && ctx.Err() == nil {
			retry = time.After(publishRetry)
			if !logged {
				p.log.Info("cannot publish the settings, so that commands such as `kubectl octavia status` need flags; trying again",
					"configMap", p.settings.String(), "in", publishRetry.String(), "error", err.Error())
			}
			logged = true
		}
		if retry == nil && project == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-retry:
		case p.settings.ProjectID = <-project:
			project = nil
		}
	}
}

// write creates the ConfigMap, or updates the one of an earlier start. While the project is unknown, the project of the
// earlier start stays: without it, commands cannot detect a login for another project.
func (p *Publisher) write(ctx context.Context) error {
	m := p.settings.ConfigMap()
	err := p.client.Create(ctx, m)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	var before corev1.ConfigMap
	if err := p.reader.Get(ctx, client.ObjectKeyFromObject(m), &before); err != nil {
		return err
	}
	if before.Labels[Label] == "" {
		return fmt.Errorf("ConfigMap %s is not one with settings of a controller: it has no label %s; delete or rename it", p.settings, Label)
	}
	s := p.settings
	s.ProjectID = cmp.Or(s.ProjectID, before.Data[projectKey])
	m = s.ConfigMap()
	m.ResourceVersion = before.ResourceVersion
	return p.client.Update(ctx, m)
}
