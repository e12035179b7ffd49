# All commands for developers. `make` lists them.
#
# They need Go, make and git, but neither root nor a container. The race detector
# needs a C compiler. The only network service that they use is the Go module
# proxy. A real OpenStack needs root, Debian 12 or 13 and Debian's package mirror; the
# site needs npm and its registry.

GO ?= go
MODULE := github.com/kube-octavia/kube-octavia
MODULES := . hack/chart hack/install hack/kube hack/monitoring hack/plot hack/release hack/schema hack/site hack/tools test/browser
TOOL := $(GO) tool -modfile=hack/tools/go.mod
GOFMT = $$($(GO) env GOROOT)/bin/gofmt

# The version that `kube-octavia version` prints.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)

# Variables of the targets below; `make help` explains them.
PKG ?= ./...
RUN ?=
RACE ?=
SHORT ?=
LOGS ?=
TIMEOUT ?= 50m
FUZZTIME ?= 1000000x
THRESHOLD ?=
ONCE ?=
CLOUD ?=
TARGETS ?=
CONTROLLERS ?=
INSTALL ?= helm
PURGE ?=
DURATION ?= 30m
SERVICES ?= 300
SEED ?=
COUNT ?= 500
STEPS ?= 20
KUBERNETES ?=
KUBE ?=
REALS ?= 3
FULL ?=
BENCH ?=
BIN ?= bin
SITE_BASE ?= /
IMAGE ?=
PLATFORMS ?=
PUSH ?=
SIGN_KEY ?=

# The sizes of make bench.
BENCH_SMALL := -time-scale=0.2 -rounds=2 -idle=30s -throttle=5s -scale-services=100 -subset-services=50 -subset-nodes=100 -max-members=20 \
	-out .cache/bench.json
BENCH_FULL := -services=10,50,200 -scale-services=1000 -subset-services=500 -subset-nodes=1000 \
	-format=markdown -out docs/performance/full.json -plots docs/performance

# KUBECONFIG counts only on the command line: KUBECONFIG in the environment may
# refer to a cluster that a demo must not change.
EXISTING_CLUSTER := $(if $(filter command%,$(origin KUBECONFIG)),$(abspath $(KUBECONFIG)))
unexport KUBECONFIG

# Tests and demo find the requested Kubernetes by this variable, see test/kube.
ifneq ($(KUBE),)
export KUBE_VERSION := $(KUBE)
endif

# The program that builds what is published.
RELEASE_TOOL = cd hack/release && $(GO) run .
RELEASE_FLAGS = $(if $(PLATFORMS),-platforms '$(PLATFORMS)') $(if $(PUSH),-push)

# With the race detector the end-to-end tests take twice as long, and only few walks are made. So both run without it,
# unless PKG selects them. So do chaos, which repeats the same code a thousand times, and the tests of the policies, in
# which kube-apiserver does the work. Eight walks, doctor and the unit tests run the same code with the race detector.
UNRACED := ./test/e2e ./test/walks ./test/policy ./test/chaos
TESTFLAGS := -timeout $(TIMEOUT) $(if $(RACE),-race) $(if $(SHORT),-short) $(if $(RUN),-run '$(RUN)')

# The Go files of the repository, including new ones.
GOFILES = $$(git ls-files --cached --others --exclude-standard '*.go' | while read -r f; do [ -f "$$f" ] && echo "$$f"; done)

.DEFAULT_GOAL := help
.PHONY: help
help: ## Show this help
	@echo "kube-octavia: load balancers for Kubernetes Services from OpenStack Octavia"
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-17s %s\n", $$1, $$2 } \
		/^#\? / { print "                        " substr($$0, 4) }' Makefile
	@echo
	@echo "The first 'make demo' or 'make test' builds a Kubernetes API from source, which takes 6 to 8"
	@echo "minutes. To use existing binaries, set KUBE_ASSETS to a directory with etcd, kube-apiserver,"
	@echo "kube-controller-manager and kubectl."

.PHONY: demo
demo: $(if $(EXISTING_CLUSTER),need-go,kube) ## Run a demo on this machine until Ctrl-C
#? ONCE=1         stop by itself; exit status 0 only if each step and each command that it recommends succeeded
#? CLOUD=openstack  with a real OpenStack and real packets (root, Debian 12)
#? TARGETS=pod    Pods as members instead of nodes; pod-routed: behind a router
#? CONTROLLERS=all  the Nodes are initialized by kube-octavia, too
#? KUBECONFIG=F   use the cluster of this file instead of a new one
	@cd hack/kube && $(GO) run . -programs '$(MODULE)/hack/demo $(MODULE)/cmd/kube-octavia' -ldflags '-X main.version=$(VERSION)' -o bin
	@$(if $(EXISTING_CLUSTER),KUBECONFIG='$(EXISTING_CLUSTER)') ONCE='$(ONCE)' CLOUD='$(CLOUD)' TARGETS='$(TARGETS)' CONTROLLERS='$(CONTROLLERS)' bin/demo

.PHONY: try-install
try-install: kube ## Carry out docs/install.md in a new cluster, from git clone to an answer, and time it (root)
#? INSTALL=helm   or helm-template, kustomize
	@cd hack/install && $(GO) run . '$(INSTALL)'

# The packages of $(1) whose tests need the Kubernetes API: they import test/kube, perhaps through another package. So there is no list
# of packages to maintain.
NEED_KUBE = $(GO) list -test -f '{{if .ForTest}}{{.ForTest}} {{join .Deps " "}}{{end}}' $(1) | awk '/kube-octavia\/test\/kube( |$$)/ { print $$1 }' | sort -u

# The packages of make unit, unless PKG selects others.
UNIT := $(if $(filter ./...,$(PKG)),./internal/... ./cloudsim/...,$(PKG))

.PHONY: unit
unit: need-go ## Run the tests of internal and cloudsim that need no Kubernetes: two minutes the first time
#? PKG=./some/... run those of these packages instead; RUN=REGEXP, RACE=1, SHORT=1 as in make test
	@needed=$$($(call NEED_KUBE,$(UNIT))) && packages=$$($(GO) list -f '{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}' $(UNIT) | grep -vxF "$$needed") || { \
		echo "make unit: no package of $(UNIT) does without Kubernetes: run \`make test PKG='$(UNIT)'\`" >&2; exit 1; }; \
	$(GO) test $(TESTFLAGS) $$packages

.PHONY: e2e
e2e: kube ## Run end-to-end tests on the simulator: RUN=TestName for one of them
#? LOGS=1         show the log of the controller, also if the test passes
	$(GO) test -count 1 $(if $(RUN),-v) $(TESTFLAGS) ./test/e2e $(if $(LOGS),-logs)

.PHONY: test
test: need-go $(if $(RACE),need-cc) ## Run all tests, including end-to-end tests
#? RACE=1         with the race detector (needs a C compiler); test/e2e, test/chaos and test/policy without it, unless PKG selects them
#? PKG=./some/... run the tests of these packages and nothing else; Kubernetes is built only if they need it
#? SHORT=1        without slow tests; RUN=REGEXP selects tests
#? KUBE=1.28      with another version of Kubernetes, as every target that needs the Kubernetes API
	@needed=$$($(call NEED_KUBE,$(PKG))) && if [ -n "$$needed" ]; then $(MAKE) --no-print-directory kube; fi
	$(GO) test $(TESTFLAGS) $(if $(and $(RACE),$(filter ./...,$(PKG))),$$($(GO) list ./... | grep -vE '/test/(e2e|chaos|policy)$$'),$(PKG))
ifeq ($(PKG),./...)
	$(if $(RACE),$(GO) test $(filter-out -race,$(TESTFLAGS)) $(UNRACED))
	$(GO) test $(TESTFLAGS) ./test/contract -release=2025.1
	$(GO) test $(TESTFLAGS) ./test/contract -release=2022.2
	cd hack/chart && $(GO) test ./...
	cd hack/install && $(GO) test -timeout 20m $(if $(SHORT),-short) ./...
	cd hack/kube && $(GO) test ./...
	cd hack/monitoring && $(GO) test ./...
	cd hack/plot && $(GO) test ./...
	cd hack/release && $(GO) test ./...
	cd hack/schema && $(GO) test -timeout 20m ./...
	cd hack/site && $(GO) test -count 1 ./...
endif

.PHONY: openstack-up
openstack-up: ## Start a real OpenStack on this machine (root, Debian 12 or 13)
#? OPENSTACK_RELEASE=2025.1      a release other than 2022.2: 2025.1 or newest
#? OPENSTACK_PROVIDER=ovn        provider of Octavia: amphora (default) or ovn
#? OPENSTACK_DATAPLANE=1         real packets, with ovn; all options: hack/openstack/README.md
	@hack/openstack/up.sh

.PHONY: openstack-down
openstack-down: ## Stop this OpenStack; takes the same options
#? PURGE=1        also delete its state
	@PURGE='$(PURGE)' hack/openstack/down.sh

.PHONY: openstack-status
openstack-status: ## Show which of its services run and respond
	@hack/openstack/status.sh

.PHONY: test-openstack
test-openstack: kube ## Run contract and end-to-end tests on real OpenStacks (root, Debian 12 or 13)
#? RELEASE=2025.1 on another release: 2022.2 (the default), 2025.1 or newest
#? STAGES=contract only some of contract, doctor, unpatched, noop and packets
#? FULL=1         including tests that are skipped on a real cloud by default; an hour in total
	@RELEASE='$(RELEASE)' STAGES='$(STAGES)' FULL='$(FULL)' hack/openstack/test.sh

# The sources of the topology page, and where its bundle is.
UI := internal/ui/web

.PHONY: ui
ui: ## Build the topology page from its sources (npm): internal/ui/web/dist, which is committed
	cd $(UI) && npm ci --no-progress && npm run check && npm run build

.PHONY: test-ui
test-ui: kube ## Test the topology page with a headless Chromium
#? SCREENSHOTS=docs/images  also write the screenshots of the documentation
	cd test/browser && $(GO) test -count 1 -timeout 20m ./... $(if $(SCREENSHOTS),-screenshots='$(abspath $(SCREENSHOTS))')

.PHONY: test-race
test-race: ## Same as make test RACE=1
	@$(MAKE) --no-print-directory test RACE=1

.PHONY: fuzz
fuzz: need-go ## Run every fuzz target a million times; takes hours
#? FUZZTIME=20s   time limit of each target, or number of runs: 1000x
	@listed=$$($(GO) test -list '^Fuzz' $(PKG)) || { echo "$$listed" >&2; exit 1; }; \
	targets=$$(echo "$$listed" | awk '/^Fuzz/ { name[n++] = $$1 } \
		/^ok/ { for (i = 0; i < n; i++) print $$2, name[i]; n = 0 }'); \
	[ -n "$$targets" ] || { echo "make fuzz: no fuzz target in $(PKG)" >&2; exit 1; }; \
	echo "$$targets" | while read -r package target; do \
		echo "fuzz: $$target of $$package"; \
		$(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) "$$package" </dev/null || exit 1; \
	done

# The packages that decide: their tests are to find every mistake that would reach the cloud.
DECISIONS := ./internal/reconcile/decide ./internal/model/diff

.PHONY: mutate
mutate: need-go ## Change the code that decides in thousands of ways, and report the changes that its unit tests do not find
#? PKG=./some/... other packages; THRESHOLD=80 fails if less than 80 % of the changes are found
	@$(GO) run ./hack/mutate $(if $(THRESHOLD),-threshold $(THRESHOLD)) $(if $(filter ./...,$(PKG)),$(DECISIONS),$(PKG))

.PHONY: chaos
chaos: kube ## Inject every fault into every call of every scenario, and check the results
#? RUN=REGEXP     select scenarios, such as RUN='TestMatrix/delete'
	cd test/chaos && $(GO) test -full -environments 8 -timeout 180m $(if $(RUN),-run '$(RUN)')

.PHONY: soak
soak: kube ## Change Services at random while calls fail and the controller is killed
#? DURATION=30m   duration; SERVICES=300 number of Services
#? SEED=N         repeat the random choices of an earlier run
	$(GO) test ./test/chaos -run '^TestSoak$$' -count 1 -v -timeout 180m -soak=$(DURATION) -services=$(SERVICES) $(if $(SEED),-seed=$(SEED))

.PHONY: walks
walks: $(if $(KUBERNETES),kube,need-go) ## Random walks: compare the result of random actions with that of the last requests alone
#? COUNT=2000     number of walks; STEPS=20 actions of each; a thousand an hour, in virtual time
#? SEED=N         of the first walk; N+1 of the second, and so on
#? KUBERNETES=real  with real kube-apiservers, and controllers as processes; REALS=3 at once
	$(GO) test ./test/walks -run '^TestWalks$$' -count 1 -v -timeout 24h -walks=$(COUNT) -steps=$(STEPS) -seed=$(or $(SEED),0) $(if $(KUBERNETES),-real=$(REALS))

.PHONY: bench
bench: kube ## Measure calls, time, CPU and memory, next to the limit of the cloud; 10 minutes; JSON in .cache/bench.json
#? FULL=1         full size, with tables, JSON and plots in docs/performance: 50 minutes
#? BENCH='FLAGS'  other flags and scenarios instead: BENCH='-cloud=openstack create delete', BENCH=-help
	@$(GO) run ./test/bench $(or $(BENCH),$(if $(FULL),$(BENCH_FULL) > docs/performance/full.md,$(BENCH_SMALL)))

.PHONY: lint
lint: lint-format lint-vet lint-staticcheck lint-modules lint-generated lint-ui ## Check formatting, go vet, staticcheck, go.mod files and generated files
	@echo "lint: ok"

.PHONY: lint-format
lint-format: need-go
	@echo "lint: gofmt, goimports, conflict markers"
	@! git grep -nE '^(<<<<<<<|>>>>>>>) ' || { echo "Left from a merge" >&2; exit 1; }
	@files="$(GOFILES)"; \
	bad=$$($(GOFMT) -s -l $$files) || exit 1; \
	bad="$$bad $$($(TOOL) goimports -l -local $(MODULE) $$files)" || exit 1; \
	bad=$$(printf '%s\n' $$bad | sort -u); \
	[ -z "$$bad" ] || { printf 'Not formatted; run `make format`:\n%s\n' "$$bad" >&2; exit 1; }

.PHONY: lint-vet
lint-vet: need-go
	@echo "lint: go vet"
	@$(GO) vet ./...
	@cd hack/chart && $(GO) vet ./...
	@cd hack/install && $(GO) vet ./...
	@cd hack/kube && $(GO) vet ./...
	@cd hack/monitoring && $(GO) vet ./...
	@cd hack/plot && $(GO) vet ./...
	@cd hack/release && $(GO) vet ./...
	@cd hack/schema && $(GO) vet ./...
	@cd hack/site && $(GO) vet ./...
	@cd test/browser && $(GO) vet ./...

.PHONY: lint-staticcheck
lint-staticcheck: need-go
	@echo "lint: staticcheck"
	@$(TOOL) staticcheck ./...
	@cd hack/chart && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	@cd hack/install && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	@cd hack/kube && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	@cd hack/monitoring && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	@cd hack/plot && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	@cd hack/release && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	@cd hack/schema && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	@cd hack/site && $(GO) tool -modfile=../tools/go.mod staticcheck ./...
	@cd test/browser && $(GO) tool -modfile=../../hack/tools/go.mod staticcheck ./...

.PHONY: lint-modules
lint-modules: need-go
	@for module in $(MODULES); do \
		echo "lint: go mod tidy in $$module"; \
		(cd "$$module" && $(GO) mod tidy -diff) || { echo "The go.mod of $$module is not tidy: run \`cd $$module && go mod tidy\`." >&2; exit 1; }; \
	done

# Generates into a copy, so that changes made meanwhile do not affect the result.
.PHONY: lint-generated
lint-generated: need-go
	@echo "lint: generated files"
	@copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && mkdir "$$copy/before" "$$copy/after" && \
	git ls-files -z --cached --others --exclude-standard | xargs -0 sh -c \
		'for f; do [ -f "$$f" ] && printf "%s\\0" "$$f"; done; true' sh | \
		tar --null -T - -cf "$$copy/tree.tar" && \
	tar -xf "$$copy/tree.tar" -C "$$copy/before" && tar -xf "$$copy/tree.tar" -C "$$copy/after" && \
	(cd "$$copy/after" && $(GO) generate ./... && (cd hack/monitoring && $(GO) generate ./...) && (cd hack/schema && $(GO) generate ./...) && cd hack/chart && $(GO) generate ./...) && \
	(cd "$$copy" && diff -ru before after) || { echo "Generated files are not up to date: run \`make generate\`." >&2; exit 1; }

# Builds the page into a copy. Without npm or a reachable package registry it is not checked.
.PHONY: lint-ui
lint-ui:
	@echo "lint: the bundle of the topology page"
	@command -v npm >/dev/null || { echo "lint: there is no npm, so the bundle of $(UI) is not compared with its sources"; exit 0; }; \
	copy=$$(mktemp -d) && trap 'rm -rf "$$copy"' EXIT && \
	tar -C $(UI) --exclude=./node_modules --exclude=./dist -cf - . | tar -xf - -C "$$copy" && cd "$$copy" && \
	if ! npm ci --no-progress >npm.log 2>&1; then \
		[ "$$CI" != true ] || { cat npm.log >&2; exit 1; }; \
		echo "lint: npm cannot install the packages, so the bundle of $(UI) is not compared with its sources"; exit 0; \
	fi && \
	npm run --silent check && npm run --silent build && \
	diff -r dist '$(abspath $(UI))/dist' >/dev/null || { echo "The bundle in $(UI)/dist is not up to date: run \`make ui\`." >&2; exit 1; }

.PHONY: format
format: need-go ## Format the Go files
	@$(GOFMT) -s -w $(GOFILES) && $(TOOL) goimports -w -local $(MODULE) $(GOFILES)

.PHONY: generate
generate: need-go ## Update the generated files
	$(GO) generate ./...
	cd hack/monitoring && $(GO) generate ./...
	cd hack/chart && $(GO) generate ./...
	cd hack/schema && $(GO) generate ./...

.PHONY: build
build: need-go ## Build bin/kube-octavia and bin/cloudsim, static binaries
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.version=$(VERSION)' -o $(BIN)/ ./cmd/...

.PHONY: image
image: need-go ## Build bin/kube-octavia-image.tar, a container image for linux/amd64 and linux/arm64
#? IMAGE=NAME     name of the image (default kube-octavia:latest)
#? PUSH=1         push it to the registry of IMAGE, with the credentials of docker or podman login
#? PLATFORMS=linux/amd64  only for this platform; several are separated by commas
	@$(RELEASE_TOOL) image -o '$(abspath $(BIN))/kube-octavia-image.tar' -version '$(VERSION)' -image '$(or $(IMAGE),kube-octavia:latest)' $(RELEASE_FLAGS)

.PHONY: release
release: need-go ## Build the files of a release in bin/release: programs, image, manifests, SBOMs, checksums
#? VERSION=v1.2.3 required; IMAGE=NAME (default kube-octavia:VERSION), PUSH=1, PLATFORMS as above
#? SIGN_KEY=KEY   also sign the chart, for helm verify, and the checksums, with this key of gpg
#? DOWNLOADS=URL  where the files are published, for the manifest of krew; default: the release on GitHub
	@[ '$(origin VERSION)' != file ] || { echo "make release: VERSION=v1.2.3 is required" >&2; exit 1; }
	@$(RELEASE_TOOL) release -o '$(abspath $(BIN))/release' -version '$(VERSION)' $(if $(IMAGE),-image '$(IMAGE)') $(if $(DOWNLOADS),-downloads '$(DOWNLOADS)') $(if $(SIGN_KEY),-sign-key '$(SIGN_KEY)') $(RELEASE_FLAGS)

# VitePress, in the versions of package-lock.json.
hack/site/node_modules: hack/site/package-lock.json
	@cd hack/site && npm ci --no-progress && touch node_modules

.PHONY: site
site: need-go need-npm hack/site/node_modules ## Build the documentation as a site in bin/site, and check its links (needs npm)
#? SITE_BASE=/docs/  path at which it will be served (default /)
	@cd hack/site && output=$$(node --test 2>&1) || { echo "$$output" >&2; exit 1; }
	@cd hack/site && SITE_BASE='$(SITE_BASE)' npx vitepress build .
	@cd hack/site && $(GO) run . -base '$(SITE_BASE)' ../../bin/site

.PHONY: site-serve
site-serve: site ## Build the site and show it at http://127.0.0.1:4173
	@cd hack/site && npx vite preview --outDir ../../bin/site --base '$(SITE_BASE)' --host 127.0.0.1

.PHONY: kube
kube: need-go ## Build the Kubernetes API for tests and demo, if it is missing
#? KUBE=1.28      a version other than that of hack/kube/go.mod: 1.28 or newer, or a release such as 1.28.15
	@[ -n "$$KUBE_ASSETS" ] || { cd hack/kube && $(GO) run . $(if $(KUBE),-kubernetes '$(KUBE)'); }

.PHONY: clean
clean: ## Remove bin/
	rm -rf bin

.PHONY: clean-all
clean-all: clean ## Remove bin/, what builds the site, and the Kubernetes API (6 to 8 minutes to build)
	rm -rf .cache/kube .cache/site hack/site/node_modules

.PHONY: need-go
need-go:
	@command -v $(GO) >/dev/null || { echo "make: Go 1.26 or newer is needed: see https://go.dev/doc/install" >&2; exit 1; }

.PHONY: need-npm
need-npm:
	@command -v npm >/dev/null || { echo "make: Node.js 18 or newer with npm is needed for the site: apt-get install nodejs npm" >&2; exit 1; }

.PHONY: need-cc
need-cc: need-go
	@command -v "$$($(GO) env CC)" >/dev/null && [ "$$($(GO) env CGO_ENABLED)" = 1 ] || { \
		echo "make: the race detector needs a C compiler (gcc or clang) and CGO_ENABLED=1;" >&2; \
		echo "make: \`make test\` without RACE=1 needs neither." >&2; exit 1; }
