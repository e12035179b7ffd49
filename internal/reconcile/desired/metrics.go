// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// metrics returns the listener that exports the load balancer's metrics to Prometheus, if the Service requests one, or
// why there is none. The metrics cover all ports of the load balancer, so only its owner may have them, and only the
// listed clients may read them: a floating IP can be reached by every client.
func (in Input) metrics(options annotation.Options) ([]lb.Listener, []lb.Withheld, error) {
	port, can := options.MetricsPort, in.Capabilities
	if port == 0 {
		return nil, nil, nil
	}
	wrong := func(format string, args ...any) error {
		return invalid(ReasonInvalidAnnotation, "annotation %s=%d: %s", in.key(annotation.MetricsPort), port, fmt.Sprintf(format, args...))
	}
	withheld := func(format string, args ...any) []lb.Withheld {
		return []lb.Withheld{{Reason: ReasonMetricsUnsupported, Message: fmt.Sprintf(format, args...) +
			fmt.Sprintf(". The Service is served without metrics; to accept that, remove annotation %s", in.key(annotation.MetricsPort))}}
	}
	taken := slices.ContainsFunc(in.Spec.Ports, func(p corev1.ServicePort) bool {
		return int(p.Port) == port && (p.Protocol == corev1.ProtocolTCP || !can.Has(lb.FeatureTransportsShareAPort))
	})
	switch {
	case taken:
		return nil, nil, wrong("it is a port of the Service; choose another")
	case in.Sharer && in.Found != nil:
		return nil, nil, invalid(ReasonSharingRefused,
			"load balancer %s was not created for this Service, and its metrics include other Services; remove annotation %s", in.Found.ID, in.key(annotation.MetricsPort))
	case len(options.MetricsAllowedCIDRs) == 0:
		return nil, nil, wrong("no client may read the metrics; list the allowed CIDRs in annotation %s (0.0.0.0/0 and ::/0 allow every client)", in.key(annotation.MetricsAllowedCIDRs))
	case !can.Has(lb.FeaturePrometheus):
		return nil, withheld("metrics need %s", in.needs(lb.FeaturePrometheus)), nil
	}
	sources, restricted, err := in.reachable(options.MetricsAllowedCIDRs)
	if err != nil {
		return nil, nil, wrong("%v; see annotation %s", err, in.key(annotation.MetricsAllowedCIDRs))
	}
	switch enforced := can.Has(lb.FeatureAllowedCIDRs); {
	case restricted && (len(options.VIPSecurityGroups) > 0 || in.Found != nil && len(in.Found.VIPSecurityGroups) > 0):
		return nil, withheld("the VIP has security groups, with which Octavia cannot restrict who may read metrics alone"), nil
	case restricted && in.hasBoth() && !can.Has(lb.FeatureDualStackSourceRanges):
		return nil, withheld("the load balancer has addresses of both families; restricting who may read its metrics needs %s",
			in.needs(lb.FeatureDualStackSourceRanges)), nil
	case restricted && !enforced:
		return nil, withheld("restricting who may read metrics needs %s", in.needs(lb.FeatureAllowedCIDRs)), nil
	case in.hasBoth() && !restricted || !enforced || len(options.VIPSecurityGroups) > 0:
		sources = nil
	}
	return []lb.Listener{{
		Name:            in.Owner.MetricsListenerName(),
		Tags:            in.tags(options.Tags, options.ListenerTags),
		Protocol:        lb.ListenerPrometheus,
		Port:            port,
		ConnectionLimit: annotation.NoLimit,
		AllowedCIDRs:    sources,
	}}, nil, nil
}
