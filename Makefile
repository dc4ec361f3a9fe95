# Tool versions: Go in go.mod, TinyGo, staticcheck and actionlint in tools/go.mod, npm packages in package.json,
# Node and LLVM at the top of tools/setup.sh. Every target installs the tools it needs.

export PATH := $(CURDIR)/.tools/bin:$(CURDIR)/node_modules/.bin:$(PATH)
export WRANGLER_SEND_METRICS := false
export CLOUDFLARE_CF_FETCH_ENABLED := false
export REDOCLY_TELEMETRY := off

.PHONY: help
help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile

.PHONY: setup
setup:
	@tools/setup.sh

.PHONY: dev
dev: setup ## start the gateway on http://127.0.0.1:8787 with a demo project
	@./build.sh
	@node tools/dev.mjs

.PHONY: key
key: ## create a production key in the demo project of a running `make dev` and print it
	@node tools/dev/key.mjs

.PHONY: build
build: setup docs ## build core.wasm, the documentation site, both Workers and the self-hosted server build/postern, and print their sizes
	@./build.sh
	@./build.sh postern
	@tools/check-dry-run.sh
	@node tools/sizes.mjs

.PHONY: docs
docs: setup ## build the documentation site in build/docs
	@tools/setup.sh site
	@./build.sh docs

.PHONY: types
types: setup
	@wrangler types worker/gateway/worker-configuration.d.ts >/dev/null

.PHONY: check
check: setup types ## check format, lint, types, wording, file references, ratchets, OpenAPI and a dry-run deployment
	@tools/setup.sh lint
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo 'run gofmt -w'; exit 1; }
	go vet ./...
	GOOS=js GOARCH=wasm go vet ./worker/control
	staticcheck ./...
	actionlint
	cd tools && go vet ./... && staticcheck ./...
	cd clients/go && go vet ./... && staticcheck ./...
	@cd tools && go run ./references
	@tools/setup.sh site
	@./build.sh docs
	@cd tools && go run ./ratchets
	biome ci --colors=off --error-on-warnings .
	tsc -p worker/gateway
	tsc -p clients/ts
	@node clients/build.mjs
	@tools/setup.sh python-tools
	@cd tools && go run ./generate -check
	cd clients/python && node ../../.tools/runtimes/pyright/index.js --pythonpath "$$(command -v python3)"
	redocly lint docs/openapi.yaml
	@./build.sh
	@tools/check-dry-run.sh
	@tools/check-strings.sh
	@node tools/words/main.mjs

.PHONY: generate
generate: setup ## write every file that is derived from others; with only=core/exchange, only these
	@tools/setup.sh python
	@cd tools && go run ./generate -only '$(only)'

.PHONY: ratchets
ratchets: ## tighten tools/ratchets.json to the current numbers; loosen='NAME=why' lets one number grow
	@cd tools && go run ./ratchets -tighten -loosen "$(loosen)"

.PHONY: test
test: setup ## run every test: Go, wasm under wazero, Workers in workerd, SDKs, browser, documents; only='sdk browser' runs some parts
	@tools/setup.sh browser python postgres clients agents site
	@cd tools && go run ./parts $(only)

.PHONY: test-long
test-long: setup ## run the full forms of the tests that `make test` has in short: worlds, kills, outages
	@tools/setup.sh postgres agents
	@cd tools && go run ./parts -long $(only)

.PHONY: test-agents
test-agents: setup ## run Codex, Claude Code, OpenCode and Pi against the gateway on both hosts
	@./build.sh && ./build.sh panic
	@node test/agents/install.mjs
	@cd tools && go run ./parts -long agents agents-serve

.PHONY: renew-agents
renew-agents: setup ## pin the newest agents that npm has, and print what they newly send
	@node test/agents/renew.mjs

.PHONY: screenshot
screenshot: setup ## update docs/overview.png, the dashboard with a month of test traffic
	@./build.sh
	@tools/setup.sh browser
	@node test/browser/screenshot.mjs

.PHONY: mutants
mutants: ## run mutation tests of the exchange, KeyMeter and Ledger; flags='-only core/ledger -sample 50 -resume'
	@cd tools && go run ./mutants $(flags)

KILLS ?= 100

.PHONY: crash
crash: ## kill a loaded server KILLS=100 times, check after each that all acknowledged changes are there, and print the figures
	cd test/crash && go test -run TestKill -kills $(KILLS) -timeout 0

SEEDS ?= 1000000

.PHONY: world
world: ## run the simulation with SEEDS=1000000 seeds and print statistics
	go test ./test/sim -run TestWorld -seeds $(SEEDS) -timeout 0 -v

.PHONY: trees
trees: ## run the simulation of budgets in a tree with SEEDS=1000000 seeds and print statistics
	go test ./test/sim -run 'TestTrees$$' -seeds $$((2 * $(SEEDS))) -timeout 0 -v

.PHONY: outages
outages: setup ## test two replicas on PostgreSQL for longer: limits, restarts, cut-off networks, failovers
	@tools/setup.sh postgres
	go test ./test/replicas -rounds 50 -outage 30s -outages 3 -timeout 1h -v

.PHONY: bench
bench: setup ## measure throughput, latency and platform cost against baselines; PEERS=1 adds Portkey's gateway
	@tools/setup.sh bench
	@./build.sh
	@node --disable-warning=ExperimentalWarning bench/run.mjs

.PHONY: bench-docs
bench-docs: setup ## keep the figures of the last `PEERS=1 make bench` and `make bench-selfhosted`, and write them into the documents
	@node bench/docs.mjs --keep

.PHONY: bench-selfhosted
bench-selfhosted: setup ## measure the self-hosted server against a Go reverse proxy and Portkey's gateway in the same run
	@tools/setup.sh bench postgres
	@./build.sh postern
	@node --disable-warning=ExperimentalWarning bench/selfhosted.mjs

.PHONY: bench-growth
bench-growth: setup ## fill a deployment with 100,000 keys and a million requests, and time the lists of the admin API; GROWTH=0.01 is quick
	@tools/setup.sh bench postgres
	@./build.sh postern
	@node --disable-warning=ExperimentalWarning bench/growth.mjs

.PHONY: soak
soak: setup ## send requests and streams to the self-hosted server, or with SOAK_ON=workerd to the gateway, and print its memory
	@tools/setup.sh bench
	@./build.sh postern
	@node --disable-warning=ExperimentalWarning bench/soak.mjs

.PHONY: publish-clients
publish-clients: setup ## pack the client libraries and list what would be published; PUBLISH=1 publishes them
	@tools/setup.sh clients
	@node clients/publish.mjs $(if $(PUBLISH),--publish)

.PHONY: release
release: setup ## build archives, checksums, SBOM, container file and client packages into build/release; verify=1 builds twice and compares
	@tools/setup.sh python-tools release site
	@node tools/release/main.mjs $(if $(verify),--verify)

.PHONY: deploy
deploy: build ## deploy both Workers to the account that wrangler is signed in to
	tools/deploy.sh
