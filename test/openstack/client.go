// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// httpClient makes a connection for each request: the services of a real cloud close theirs
// after an answer, and a request that meets such a connection has no answer. A create may take
// seconds on a busy machine.
var httpClient = &http.Client{
	Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 2 * time.Minute,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Login is who a client is: a user of the domain Default, in a project, which
// has an id or a name.
type Login struct {
	AuthURL                        string
	User, Password                 string
	ProjectID, ProjectName, Region string
}

// LoginAsUser is that of the cloud's user.
func (c *Cloud) LoginAsUser() Login {
	return Login{AuthURL: c.AuthURL, User: c.User, Password: c.Password, ProjectID: c.Project, Region: c.Region}
}

// LoginAsAdmin is that of the cloud's admin.
func (c *Cloud) LoginAsAdmin() Login {
	return Login{AuthURL: c.AuthURL, User: "admin", Password: c.AdminPassword, ProjectName: "admin", Region: c.Region}
}

// Client makes requests to the services of a cloud. It may be used by many
// goroutines.
type Client struct {
	login Login

	mu        sync.Mutex
	token     string
	project   string
	endpoints map[string]string
}

// Connect logs in.
func Connect(ctx context.Context, login Login) (*Client, error) {
	c := &Client{login: login}
	return c, c.authenticate(ctx)
}

// Endpoints returns the addresses of the services in the catalogue, by their types.
func (c *Client) Endpoints() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.endpoints
}

// Project returns the id of the project that the client is in.
func (c *Client) Project() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.project
}

// Response is an answer to a request.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Do implements Requester. It renews a token that is no longer valid.
func (c *Client) Do(ctx context.Context, service, method, path string, body []byte) (Response, error) {
	root := origin(c.Endpoints()[service])
	if root == "" {
		return Response{}, fmt.Errorf("%s %s: the catalogue has no service %s", method, path, service)
	}
	answer, err := send(ctx, method, root+path, c.Token(), body)
	if err == nil && answer.Status == http.StatusUnauthorized {
		err = c.authenticate(ctx)
		if err == nil {
			answer, err = send(ctx, method, root+path, c.Token(), body)
		}
	}
	return answer, err
}

// Token returns the token as it was granted.
func (c *Client) Token() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.token
}

func send(ctx context.Context, method, url, token string, body []byte) (Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return Response{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("X-Auth-Token", token)
	}
	return Send(request)
}

// Send makes a request and reads the answer. Redirects are not followed.
func Send(request *http.Request) (Response, error) {
	response, err := httpClient.Do(request)
	if err != nil {
		return Response{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return Response{Status: response.StatusCode, Header: response.Header, Body: text}, err
}

func (c *Client) authenticate(ctx context.Context) error {
	domain := map[string]any{"name": "Default"}
	project := map[string]any{"id": c.login.ProjectID}
	if c.login.ProjectID == "" {
		project = map[string]any{"name": c.login.ProjectName, "domain": domain}
	}
	body, err := json.Marshal(map[string]any{"auth": map[string]any{
		"identity": map[string]any{"methods": []string{"password"}, "password": map[string]any{
			"user": map[string]any{"name": c.login.User, "domain": domain, "password": c.login.Password},
		}},
		"scope": map[string]any{"project": project},
	}})
	if err != nil {
		return err
	}
	answer, err := send(ctx, http.MethodPost, strings.TrimSuffix(c.login.AuthURL, "/")+"/auth/tokens", "", body)
	if err != nil {
		return fmt.Errorf("log in as %s: %w: is the cloud up?", c.login.User, err)
	}
	if answer.Status != http.StatusCreated {
		return fmt.Errorf("log in as %s at %s: %d: %s", c.login.User, c.login.AuthURL, answer.Status, answer.Body)
	}
	return c.accept(answer)
}

// accept keeps the token and what its answer says.
func (c *Client) accept(answer Response) error {
	var granted struct {
		Token struct {
			Project struct{ ID string }
			Catalog []struct {
				Type      string
				Endpoints []struct{ Interface, Region, URL string }
			}
		}
	}
	if err := json.Unmarshal(answer.Body, &granted); err != nil {
		return fmt.Errorf("log in as %s: %w", c.login.User, err)
	}
	endpoints := map[string]string{}
	for _, service := range granted.Token.Catalog {
		for _, e := range service.Endpoints {
			if e.Interface == "public" && (c.login.Region == "" || e.Region == c.login.Region) {
				endpoints[service.Type] = e.URL
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.project, c.endpoints = answer.Header.Get("X-Subject-Token"), granted.Token.Project.ID, endpoints
	return nil
}
