// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// readableByAll is the permission bit with which every user can read a file.
const readableByAll = 0o004

func checkConfiguration(f facts, r *Result) {
	if !f.Config.OK() {
		for _, p := range f.ConfigProblems {
			why, do := consequence(f.ConfigOrigin, p.Do)
			r.Found(Error, p.What, why, do)
		}
		return
	}
	c := f.Config.Value
	if f.ConfigMode&readableByAll != 0 {
		r.Found(Warning, fmt.Sprintf("every user of this machine may read %s (mode %04o)", f.ConfigPath, f.ConfigMode), "The file has the credentials of the cloud.",
			fmt.Sprintf("Remove the permission: `chmod o-rwx %s`; in a Pod, set defaultMode: 0440 of the volume, and fsGroup.", f.ConfigPath))
	}
	switch f.ConfigOrigin {
	case config.FromFile:
		r.Saw("the file is valid")
		r.Saw("it is " + f.ConfigPath)
	case config.FromSecret:
		r.Saw("cloud.conf of the controller is valid")
		r.Saw("it is in " + f.ConfigPath)
	case config.FromEnvironment:
		r.Saw("the settings of the controller are valid")
		r.Saw("the login is that of " + f.ConfigPath)
	}
	for _, n := range c.Notices {
		why := "The key has no effect, although you may expect one."
		if n.Kind == config.Doubtful {
			why = "The controller may use another value than you intended."
		}
		r.Found(Warning, n.Place()+": "+n.Text, why, n.Do)
	}
	if f.Controllers.Service && !c.LoadBalancer.Enabled {
		r.Found(Error, "[LoadBalancer] enabled is false", "The controller does not start.", "Set enabled = true in [LoadBalancer].")
	}
	if c.Global.TLSInsecure && f.ConfigOrigin != config.FromEnvironment {
		r.Found(Warning, "[Global] tls-insecure is true", "Anyone between the controller and the cloud can read the credentials.",
			"Remove tls-insecure, and set ca-file to the CA that signs the certificates of the cloud.")
	}
}

// consequence returns the consequence of an unusable cloud.conf, or of what replaces it, and what to do.
func consequence(from config.Origin, do string) (why, what string) {
	const blind = "This command cannot check the cloud. The controller may work nevertheless: "
	switch from {
	case config.FromSecret:
		return blind + "it has the file in its Pod.", "Correct what the message names, or give this command another login: set $OS_CLOUD or the variables of an openrc file, or --cloud-config."
	case config.FromEnvironment:
		return blind + "it has its own login.", "Correct what the message names, or unset the variables OS_* to use the login of the controller, from its Secret."
	}
	return "The controller does not start.", do
}

// expirySoon is how long before their expiry credentials cause a warning, as in the log of the
// controller.
const expirySoon = 7 * 24 * time.Hour

func checkCredentials(f facts, r *Result) {
	if _, ok := f.configured(r); !ok {
		return
	}
	if login := f.Cloud.Login; !login.OK() {
		if len(f.Cloud.NoService) > 0 || f.Cloud.NoRegion {
			r.Saw("Keystone accepts the credentials")
			return
		}
		f.reportRefused(login.Missing, r)
		return
	}
	login := f.Cloud.Login.Value
	r.Saw(fmt.Sprintf("Keystone accepts the %s", login.Kind))
	r.Saw("it is for project " + login.ProjectID)
	r.Saw("roles in the project: " + joined(login.Roles))
	if f.ConfigOrigin == config.FromEnvironment {
		r.Found(Unknown, fmt.Sprintf("the login is that of %s; the controller's own login was not checked", f.ConfigPath), "The controller's login may have another expiry, other roles and other access rules.",
			"Unset the variables OS_*: then this command uses the Secret of the controller, if your user in Kubernetes may read it.")
		return
	}
	r.Saw("Rights to write were not tried, because that would write. They depend on the roles.")
	checkKind(login, r)
	checkExpiry(f.Now, login, r)
	checkRoles(f, login, r)
	checkWithout(f, login, r)
	if len(login.MissingRules) > 0 {
		r.Found(Error, "the access rules of the application credential do not allow "+strings.Join(login.MissingRules, ", "),
			"The controller makes these calls, and the cloud rejects them.", "Replace the application credential with `kube-octavia credential rotate`.")
	}
	checkGrants(f, login, r)
	checkVIPGroups(f, login, r)
}

// checkGrants checks whether Octavia can read certificates with the access rules of the application credential, if
// certificates are used.
func checkGrants(f facts, login Login, r *Result) {
	used := usesCertificates(f, f.Config.Value)
	missing := login.MissingOnRequest[calls.FeatureCertificateGrants]
	if len(missing) == 0 || used == "" || slices.Contains(login.Without, calls.FeatureCertificates) {
		return
	}
	r.Found(Warning, fmt.Sprintf("the access rules of the application credential do not allow %s, and %s needs a certificate", strings.Join(missing, ", "), used),
		"Octavia of OpenStack 2025.1 makes these calls with the token of the controller, and cannot read new certificates without them. That of 2022.2 does not make them, "+
			"and reads no certificates on behalf of an application credential.",
		"Replace the application credential with `kube-octavia credential rotate`; if Octavia is of OpenStack 2022.2, set a user with a password in [Global] of cloud.conf instead.")
}

// checkVIPGroups checks whether the access rules of the application credential allow security groups of VIPs, if a
// Service requests them.
func checkVIPGroups(f facts, login Login, r *Result) {
	missing, requests := login.MissingOnRequest[calls.FeatureVIPGroups], requested(f, nil, annotation.VIPSecurityGroups)
	if len(missing) == 0 || len(requests) == 0 {
		return
	}
	r.Found(Error, fmt.Sprintf("the access rules of the application credential do not allow %s, which %s needs", strings.Join(missing, ", "), requests[0].where),
		"The cloud rejects these calls.", "Replace the application credential with `kube-octavia credential rotate`.")
}

// reportRefused reports that there is no login.
func (f facts) reportRefused(login Missing, r *Result) {
	switch f.ConfigOrigin {
	case config.FromFile:
		r.Found(Error, login.Reason, "The controller cannot work with the cloud.", login.AdviceOr("correct [Global] of cloud.conf"))
	case config.FromSecret:
		r.Found(Error, login.Reason, "This command cannot check the cloud. The controller has the same login: if it fails there, too, the controller cannot work.",
			login.AdviceOr(f.inPlace("correct [Global] of cloud.conf")))
	case config.FromEnvironment:
		r.Found(Error, login.Reason, "This command cannot check the cloud. The controller has its own login, which was not tried.",
			login.AdviceOr(f.inPlace("correct [Global], or unset the variables OS_* to use the login of the controller, from its Secret")))
	}
}

// inPlace returns the text with [Global] replaced by the place of the login, if that is not a file.
func (f facts) inPlace(text string) string {
	place := f.ConfigPath
	switch f.ConfigOrigin {
	case config.FromFile:
		return text
	case config.FromSecret:
		place = "[Global] of " + f.ConfigPath
	}
	return strings.NewReplacer("[Global] of cloud.conf", place, "[Global]", place).Replace(text)
}

// checkWithout checks whether features are used for which the application credential has no access
// rules.
func checkWithout(f facts, login Login, r *Result) {
	used := map[calls.Feature]string{calls.FeatureCertificates: usesCertificates(f, f.Config.Value)}
	if f.Config.Value.LoadBalancer.ManageSecurityGroups {
		used[calls.FeatureSecurityGroups] = "[LoadBalancer] manage-security-groups"
	}
	if f.Controllers.Nodes() {
		used[calls.FeatureNodes] = "--controllers=node,node-lifecycle"
	}
	if f.Controllers.Route {
		used[calls.FeatureRoutes] = "--controllers=route"
	}
	for _, feature := range login.Without {
		if used[feature] == "" {
			r.Saw(fmt.Sprintf("the access rules exclude %s, which nothing uses", feature))
			continue
		}
		r.Found(Error, fmt.Sprintf("the access rules of the application credential exclude %s, but %s needs them", feature, used[feature]),
			"The cloud rejects these calls.", allow(feature))
	}
}

// allow returns how to get access rules for a feature.
func allow(feature calls.Feature) string {
	if slices.Contains(calls.Additional(), feature) {
		return fmt.Sprintf("Replace the application credential: `kube-octavia credential rotate --with=%s`; --with takes several, separated by commas.", feature.Name())
	}
	return fmt.Sprintf("Create an application credential without `--without=%s`: `kube-octavia credential create`.", feature.Name())
}

func checkKind(login Login, r *Result) {
	switch login.Kind {
	case config.ByPassword:
		r.Found(Warning, "cloud.conf has the password of a user", "Anyone who can read the file has all rights of the user, and these cannot be revoked separately.",
			"Create an application credential that allows only the calls of the controller: `kube-octavia credential create`.")
	case config.ByToken:
		r.Found(Warning, "cloud.conf has a token", "It cannot be renewed: when it expires, the controller stops working.",
			"Create an application credential: `kube-octavia credential create`.")
	}
}

func checkExpiry(now time.Time, login Login, r *Result) {
	do := "Replace the application credential: `kube-octavia credential rotate`. A running controller reads cloud.conf again."
	if login.Kind != config.ByApplicationCredential {
		do = "Replace the credentials in [Global] of cloud.conf. A running controller reads them again."
	}
	left := login.Expires.Sub(now)
	when := login.Expires.UTC().Format(time.RFC3339)
	switch {
	case login.ExpiryUnknown != "":
		r.Found(Unknown, "it is unknown when the credentials expire: "+login.ExpiryUnknown, "They may expire without notice.",
			"Look it up: `openstack application credential show ID`, or `openstack trust show ID`.")
	case login.Expires.IsZero():
		r.Saw("the credentials do not expire")
	case left <= 0:
		r.Found(Error, "the credentials expired at "+when, "The controller stops working with its next token.", do)
	case left < expirySoon:
		r.Found(Warning, "the credentials expire at "+when, "Without them the controller stops working.", do)
	default:
		r.Saw("the credentials expire at " + when)
	}
}

// writers are the roles with the right to write by the default policies of Octavia and Neutron, in any release. In
// Octavia of 2025.1, load-balancer_member alone is not sufficient, but a cloud may keep the previous policy.
var writers = []string{"admin", "manager", "member", "_member_", "Member", "load-balancer_member", "load-balancer_admin"}

func checkRoles(f facts, login Login, r *Result) {
	const assign = "Assign a role: `openstack role add --user USER --project PROJECT member`, and load-balancer_member if Octavia's policy requires it: " +
		"that of OpenStack 2022.2 does, that of 2025.1 does not. Application credentials have the roles of their creation: create another one."
	if len(login.Roles) > 0 && !slices.ContainsFunc(login.Roles, func(role string) bool { return slices.Contains(writers, role) }) {
		r.Found(Error, "the only roles are "+joined(login.Roles), "By default, these roles may not create load balancers and floating IPs.", assign)
	}
	for _, read := range []struct {
		what string
		Missing
	}{{"load balancers", f.Cloud.Octavia.Balancers.Missing}, {"networks", f.Cloud.Network.Networks.Missing}, {"subnets", f.Cloud.Network.Subnets.Missing}, {"ports", f.Cloud.Network.Ports.Missing}} {
		if read.Kind == Denied {
			r.Found(Error, read.Reason, "The controller must read "+read.what+".", read.AdviceOr(assign))
		}
	}
}
