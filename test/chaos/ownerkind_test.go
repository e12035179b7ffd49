// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kube-octavia/kube-octavia/test/ownerkind"
)

// otherKindVariable makes a process a controller that also serves ConfigMaps.
const otherKindVariable = "KUBE_OCTAVIA_CHAOS_OTHER_KIND"

// The crash and fault cases do not depend on the kind of the owner: these scenarios are of a kind that only tests have.
func TestMatrixOfAnotherKindOfOwners(t *testing.T) {
	for _, s := range []scenario{
		{name: "other-kind-create", change: createConfigMap("80/TCP=30080,53/UDP=30053")},
		{name: "other-kind-add-port", start: createConfigMap("80/TCP=30080"), change: editConfigMap("80/TCP=30080,81/TCP=30081"), unchanged: []string{"TCP/80"}},
		{name: "other-kind-delete", start: createConfigMap("80/TCP=30080,81/TCP=30081"), change: remove, leavesNothing: true},
	} {
		runMatrix(t, s.name, injections, func(t *testing.T) matrixCase {
			r := newRun(t)
			r.ofAnotherKind = true
			r.requireNoError(r.prepare(s))
			return matrixCase{r, func() error { return s.change(r) }, r.finish}
		})
	}
}

func (r *run) configMaps() typed.ConfigMapInterface {
	return r.env.client.CoreV1().ConfigMaps(r.namespace)
}

// createConfigMap creates an owner with these ports.
func createConfigMap(ports string) func(*run) error {
	return func(r *run) error {
		object := &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: r.name, Namespace: r.namespace, Labels: map[string]string{ownerkind.Label: "true"}},
			Data:       map[string]string{ownerkind.Ports: ports},
		}
		_, err := r.configMaps().Create(r.ctx, object, metav1.CreateOptions{})
		return err
	}
}

// editConfigMap gives the owner other ports.
func editConfigMap(ports string) func(*run) error {
	return func(r *run) error {
		patch := fmt.Appendf(nil, `{"data":{%q:%q}}`, ownerkind.Ports, ports)
		_, err := r.configMaps().Patch(r.ctx, r.name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	}
}

// likeAService returns the Service that requests and has the same as the ConfigMap, or nil if there is no ConfigMap. So the
// rules for Services apply.
func (r *run) likeAService() (*corev1.Service, error) {
	object, err := r.configMaps().Get(r.ctx, r.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	of := ownerkind.ConfigMaps{}.Owner(object)
	v := &corev1.Service{ObjectMeta: object.ObjectMeta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: of.Spec.Ports}}
	v.Status.Conditions, v.Status.LoadBalancer.Ingress = of.Recorded.Conditions, of.Recorded.Ingress
	return v, nil
}
