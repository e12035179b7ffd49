# Everything that a developer runs. `make` alone explains itself.
#
# It needs Go, make and git, no root and no container; with a C compiler the
# race detector can be used too. The Go module proxy is the only thing that is
# asked for on the network. A real OpenStack needs root and Debian 12, and asks
# Debian's package mirror.

GO ?= go
MODULE := github.com/kube-octavia/kube-octavia
MODULES := . hack/kube hack/tools
TOOL := $(GO) tool -modfile=hack/tools/go.mod
GOFMT = $$($(GO) env GOROOT)/bin/gofmt

# What the programs call themselves in `kube-octavia version`.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Knobs of the targets below; the help tells them.
PKG ?= ./...
RUN ?=
RACE ?=
SHORT ?=
TIMEOUT ?= 40m
FUZZTIME ?= 1000000x
ONCE ?=
CLOUD ?=
PURGE ?=
DURATION ?= 30m
SERVICES ?= 300
SEED ?=
BIN ?= bin
IMAGE ?= kube-octavia:latest
CONTAINERS ?= docker

# A cluster is used only when it is named in the command: KUBECONFIG in the
# environment may point at one that a demo should not touch.
EXISTING_CLUSTER := $(if $(filter command%,$(origin KUBECONFIG)),$(abspath $(KUBECONFIG)))
unexport KUBECONFIG

TESTFLAGS := -timeout $(TIMEOUT) $(if $(RACE),-race) $(if $(SHORT),-short) $(if $(RUN),-run '$(RUN)')

# The Go files that are in the repository or about to be.
GOFILES = $$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ -f "$$f" ] && echo "$$f"; done)

.DEFAULT_GOAL := help
.PHONY: help
help: ## Show this help
	@echo "kube-octavia: load balancers for Kubernetes Services from OpenStack Octavia"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 } \
		/^#\? / { print "                        " substr($$0, 4) }' Makefile
	@echo
	@echo "The first 'make demo' or 'make test' builds a Kubernetes API from source, once, in about"
	@echo "6 minutes. KUBE_ASSETS=DIR uses etcd, kube-apiserver, kube-controller-manager and kubectl of DIR."

.PHONY: demo
demo: $(if $(EXISTING_CLUSTER),need-go,kube) ## Show the main job on this machine, until Ctrl-C
#? ONCE=1         end by itself, exit 0 only if each step was seen
#? CLOUD=openstack  with a real OpenStack and real packets (root, Debian 12)
#? KUBECONFIG=F   use the cluster of this file instead of one of its own
	@cd hack/kube && $(GO) run . -program github.com/kube-octavia/kube-octavia/hack/demo -o bin/demo
	@$(if $(EXISTING_CLUSTER),KUBECONFIG='$(EXISTING_CLUSTER)') ONCE='$(ONCE)' CLOUD='$(CLOUD)' bin/demo

.PHONY: test
test: kube $(if $(RACE),need-cc) ## Run all tests, end-to-end ones included
#? RACE=1         with the race detector (needs a C compiler)
#? SHORT=1        without what takes long; RUN=REGEXP, PKG=./some/... less of it
	$(GO) test $(TESTFLAGS) $(PKG)
	cd hack/kube && $(GO) test ./...

.PHONY: openstack-up
openstack-up: ## Bring up a real OpenStack on this machine (root, Debian 12)
#? OPENSTACK_PROVIDER=ovn        Octavia's provider, amphora or ovn
#? OPENSTACK_DATAPLANE=1         real packets, with ovn; more in hack/openstack/README.md
	@hack/openstack/up.sh

.PHONY: openstack-down
openstack-down: ## Stop it; with the same options
#? PURGE=1        remove its state too
	@PURGE='$(PURGE)' hack/openstack/down.sh

.PHONY: openstack-status
openstack-status: ## Tell which of its processes run and answer
	@hack/openstack/status.sh

.PHONY: test-openstack
test-openstack: kube ## Run the contract and end-to-end tests on real OpenStacks (root, Debian 12)
#? FULL=1         with the tests that a real cloud is spared otherwise, an hour in all
	@FULL='$(FULL)' hack/openstack/test.sh

.PHONY: test-race
test-race: ## Same as make test RACE=1
	@$(MAKE) --no-print-directory test RACE=1

.PHONY: fuzz
fuzz: need-go ## Run every fuzz target a million times, hours in all
#? FUZZTIME=20s   how long each, or how often: 1000x
	@listed=$$($(GO) test -list '^Fuzz' $(PKG)) || { echo "$$listed" >&2; exit 1; }; \
	targets=$$(echo "$$listed" | awk '/^Fuzz/ { name[n++] = $$1 } \
		/^ok/ { for (i = 0; i < n; i++) print $$2, name[i]; n = 0 }'); \
	[ -n "$$targets" ] || { echo "make fuzz: no fuzz target in $(PKG)" >&2; exit 1; }; \
	echo "$$targets" | while read -r package target; do \
		echo "fuzz: $$target of $$package"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; \
	done

.PHONY: chaos
chaos: kube ## Break every call of every scenario in every way, and count what became of it
#? RUN=REGEXP     a part of it, such as RUN='TestMatrix/delete'
	cd test/chaos && $(GO) test -full -parallel 4 -timeout 180m $(if $(RUN),-run '$(RUN)')

.PHONY: soak
soak: kube ## Change Services at random while calls fail and the controller is killed
#? DURATION=30m   how long; SERVICES=300 how many
#? SEED=N         the choices of an earlier one
	$(GO) test ./test/chaos -run '^TestSoak$$' -count 1 -v -timeout 180m -soak=$(DURATION) -services=$(SERVICES) $(if $(SEED),-seed=$(SEED))

.PHONY: bench
bench: kube ## Measure the call and time budget, print JSON
	@$(GO) run ./test/bench

.PHONY: lint
lint: lint-format lint-vet lint-staticcheck lint-modules lint-generated ## Check format, vet, staticcheck, go.mod files, generated files
	@echo "lint: ok"

.PHONY: lint-format
lint-format: need-go
	@echo "lint: gofmt, goimports"
	@files="$(GOFILES)"; \
	bad=$$($(GOFMT) -s -l $$files) || exit 1; \
	bad="$$bad $$($(TOOL) goimports -l -local $(MODULE) $$files)" || exit 1; \
	bad=$$(printf '%s\n' $$bad | sort -u); \
	[ -z "$$bad" ] || { printf 'Not formatted; run `make format`:\n%s\n' "$$bad" >&2; exit 1; }

.PHONY: lint-vet
lint-vet: need-go
	@echo "lint: go vet"
	@$(GO) vet ./...
	@cd hack/kube && $(GO) vet ./...

.PHONY: lint-staticcheck
lint-staticcheck: need-go
	@echo "lint: staticcheck"
	@$(TOOL) staticcheck ./...
	@cd hack/kube && $(GO) tool -modfile=../tools/go.mod staticcheck ./...

.PHONY: lint-modules
lint-modules: need-go
	@for module in $(MODULES); do \
		echo "lint: go mod tidy in $$module"; \
		(cd "$$module" && $(GO) mod tidy -diff) || { echo "The go.mod of $$module is not tidy: run \`cd $$module && go mod tidy\`." >&2; exit 1; }; \
	done

# Generates into a copy, so that the check says the same whatever else is
# being changed.
.PHONY: lint-generated
lint-generated: need-go
	@echo "lint: generated files"
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && mkdir "$$copy/before" "$$copy/after" && \
	git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c \
		'for f; do [ -f "$$f" ] && printf "%s\\0" "$$f"; done; true' sh | \
		tar --null -T - -cf "$$copy/tree.tar" && \
	tar -xf "$$copy/tree.tar" -C "$$copy/before" && tar -xf "$$copy/tree.tar" -C "$$copy/after" && \
	(cd "$$copy/after" && $(GO) generate ./...) && \
	(cd "$$copy" && diff -ru before after) || { echo "Generated files are not up to date: run \`make generate\`." >&2; exit 1; }

.PHONY: format
format: need-go ## Format the Go files
	@$(GOFMT) -s -w $(GOFILES) && $(TOOL) goimports -w -local $(MODULE) $(GOFILES)

.PHONY: generate
generate: need-go ## Write the generated files anew
	$(GO) generate ./...

.PHONY: build
build: need-go ## Build bin/kube-octavia and bin/cloudsim, which need nothing else
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o $(BIN)/ ./cmd/...

.PHONY: image
image: ## Build a container image of kube-octavia (docker, or CONTAINERS=podman)
#? IMAGE=NAME     what to call it, kube-octavia:latest if not said
	$(CONTAINERS) build --build-arg VERSION='$(VERSION)' --tag '$(IMAGE)' .

.PHONY: kube
kube: need-go ## Build the Kubernetes API for tests and demo, if it is not there
	@[ -n "$$KUBE_ASSETS" ] || { cd hack/kube && $(GO) run .; }

.PHONY: clean
clean: ## Remove bin/
	rm -rf bin

.PHONY: clean-all
clean-all: clean ## Remove bin/ and the Kubernetes API (6 minutes to build)
	rm -rf .cache/kube

.PHONY: need-go
need-go:
	@command -v $(GO) >/dev/null || { echo "make: Go 1.26 or newer is needed: see https://go.dev/doc/install" >&2; exit 1; }

.PHONY: need-cc
need-cc: need-go
	@command -v "$$($(GO) env CC)" >/dev/null && [ "$$($(GO) env CGO_ENABLED)" = 1 ] || { \
		echo "make: the race detector needs a C compiler (gcc or clang) and CGO_ENABLED=1;" >&2; \
		echo "make: \`make test\` without RACE=1 needs neither." >&2; exit 1; }
