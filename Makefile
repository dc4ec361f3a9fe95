# Tool versions: Go in go.mod, TinyGo and staticcheck in tools/go.mod, npm packages in package.json,
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
build: setup ## build core.wasm, both Workers and the self-hosted server build/postern, and print their sizes
	@./build.sh
	@./build.sh postern
	@tools/check-dry-run.sh
	@node tools/sizes.mjs

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
	cd tools && go vet ./... && staticcheck ./...
	cd clients/go && go vet ./... && staticcheck ./...
	@cd tools && go run ./references
	@cd tools && go run ./ratchets
	biome ci --colors=off --error-on-warnings .
	tsc -p worker/gateway
	tsc -p clients/ts
	@node clients/build.mjs
	@node clients/version.mjs --check
	@cd tools && go run ./reference -check
	@node clients/ts/tools/reference.mjs --check
	@tools/setup.sh python-tools
	@python3 clients/python/tools/reference.py --check
	cd clients/python && node ../../.tools/runtimes/pyright/index.js --pythonpath "$$(command -v python3)"
	@node bench/readme.mjs --check
	redocly lint docs/openapi.yaml
	@./build.sh
	@tools/check-dry-run.sh
	@tools/check-strings.sh
	@node tools/words/main.mjs

.PHONY: ratchets
ratchets: ## tighten tools/ratchets.json to the current numbers; loosen='NAME=why' lets one number grow
	@cd tools && go run ./ratchets -tighten -loosen "$(loosen)"

.PHONY: test
test: setup ## run every test: Go, wasm under wazero, Workers in workerd, SDKs, browser
	@./build.sh
	@./build.sh panic
	@tools/setup.sh browser python postgres
	node --test worker/gateway/test/*.test.mjs control/web/test/*.test.mjs test/build/*.test.mjs test/deploy/*.test.mjs test/dev/*.test.mjs bench/test/*.test.mjs tools/words/*.test.mjs
	node --test test/sdk/*.test.mjs
	TEST_TARGET=serve node --test test/sdk/*.test.mjs
	node --test test/browser/*.test.mjs
	TEST_TARGET=serve node --test test/browser/keys.test.mjs test/browser/session.test.mjs test/browser/usage.test.mjs test/browser/governor.test.mjs
	go test $$(go list ./... | grep -v -e /conformance$$ -e /core/explore$$ -e /core/sim$$ -e /core/governor$$ -e /test/crash$$)
	cd core/governor && go test # in its folder, go prints recall and precision
	cd core/explore && go test
	cd core/sim && go test
	cd conformance && go test -timeout 30m
	cd test/crash && go test
	cd tools && go test ./...
	@tools/setup.sh clients
	node clients/build.mjs
	node --test clients/ts/test/*.test.mjs
	TEST_TARGET=serve node --test clients/ts/test/smoke.test.mjs
	node --test clients/ai-sdk/test/*.test.mjs clients/langchain/test/*.test.mjs
	TEST_TARGET=serve node --test clients/ai-sdk/test/gateway.test.mjs clients/langchain/test/gateway.test.mjs clients/langchain/test/standard.test.mjs
	node --test clients/examples/test/*.test.mjs
	TEST_TARGET=serve node --test clients/examples/test/handlers.test.mjs
	cd clients/python && python3 -m pytest
	cd clients/python && TEST_TARGET=serve python3 -m pytest tests/test_gateway.py tests/test_docs.py
	cd clients/go && go test -count=1 $$(command -v gcc >/dev/null && echo -race) ./... # go does not notice changes of the table

.PHONY: screenshot
screenshot: setup ## update docs/overview.png, the dashboard with a month of test traffic
	@./build.sh
	@tools/setup.sh browser
	@node test/browser/screenshot.mjs

.PHONY: reference
reference: setup ## write the references of the client libraries, docs/clients/reference, from their comments
	@tools/setup.sh python
	@cd tools && go run ./reference
	@python3 clients/python/tools/reference.py
	@node clients/ts/build.mjs
	@node clients/ts/tools/reference.mjs

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
	go test ./core/sim -run TestWorld -seeds $(SEEDS) -timeout 0 -v

.PHONY: outages
outages: setup ## test two replicas on PostgreSQL for longer: limits, restarts, cut-off networks, failovers
	@tools/setup.sh postgres
	go test ./test/replicas -rounds 50 -outage 30s -outages 3 -timeout 1h -v

.PHONY: bench
bench: setup ## measure throughput, latency and platform cost against baselines; PEERS=1 adds Portkey's gateway
	@tools/setup.sh bench
	@./build.sh
	@node --disable-warning=ExperimentalWarning bench/run.mjs

.PHONY: bench-readme
bench-readme: setup ## write the figures of the last `PEERS=1 make bench` into README.md
	@node bench/readme.mjs

.PHONY: bench-selfhosted
bench-selfhosted: setup ## measure the self-hosted server against a Go reverse proxy and Portkey's gateway in the same run
	@tools/setup.sh bench
	@./build.sh postern
	@node --disable-warning=ExperimentalWarning bench/selfhosted.mjs

.PHONY: soak
soak: setup ## send requests and streams to the self-hosted server and print its memory before and in the minute after
	@tools/setup.sh bench
	@./build.sh postern
	@node --disable-warning=ExperimentalWarning bench/soak.mjs

.PHONY: publish-clients
publish-clients: setup ## pack the client libraries and list what would be published; PUBLISH=1 publishes them
	@tools/setup.sh clients
	@node clients/publish.mjs $(if $(PUBLISH),--publish)

.PHONY: deploy
deploy: build ## deploy both Workers to the account that wrangler is signed in to
	tools/deploy.sh
