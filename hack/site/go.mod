module github.com/kube-octavia/kube-octavia/hack/site

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	golang.org/x/net v0.57.0
)

ignore ./node_modules
