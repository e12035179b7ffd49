// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"context"
	"fmt"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Once is a Reader that makes each list only once, until Forget is called. Single objects, and pages of lists, are read
// each time. It is for commands that handle many Services, and safe for concurrent use.
type Once struct {
	client.Reader

	mu    sync.Mutex
	lists map[string]func() (runtime.Object, error)
}

// Forget clears the lists, so that they are read again.
func (o *Once) Forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lists = nil
}

// List implements client.Reader.
func (o *Once) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	var with client.ListOptions
	with.ApplyOptions(options)
	if with.Limit > 0 || with.Continue != "" || with.FieldSelector != nil || with.Raw != nil {
		return o.Reader.List(ctx, list, options...)
	}
	known, err := o.known(ctx, fmt.Sprintf("%T %q %v", list, with.Namespace, with.LabelSelector), list, options)
	if err != nil {
		return err
	}
	if with.UnsafeDisableDeepCopy == nil || !*with.UnsafeDisableDeepCopy {
		reflect.ValueOf(list).Elem().Set(reflect.ValueOf(known.DeepCopyObject()).Elem())
		return nil
	}
	reflect.ValueOf(list).Elem().Set(reflect.ValueOf(known).Elem())
	// As in a cache, the objects are shared, but not the slice: readers may remove elements.
	items := reflect.ValueOf(list).Elem().FieldByName("Items")
	own := reflect.MakeSlice(items.Type(), items.Len(), items.Len())
	reflect.Copy(own, items)
	items.Set(own)
	return nil
}

// known returns the list, which the first caller reads.
func (o *Once) known(ctx context.Context, key string, kind client.ObjectList, options []client.ListOption) (runtime.Object, error) {
	o.mu.Lock()
	read := o.lists[key]
	if read == nil {
		read = sync.OnceValues(func() (runtime.Object, error) {
			list := reflect.New(reflect.TypeOf(kind).Elem()).Interface().(client.ObjectList)
			err := o.Reader.List(ctx, list, options...)
			return list, err
		})
		if o.lists == nil {
			o.lists = map[string]func() (runtime.Object, error){}
		}
		o.lists[key] = read
	}
	o.mu.Unlock()
	return read()
}
