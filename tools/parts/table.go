package main

import (
	"os/exec"
	"path"
	"slices"
	"strings"
)

// build runs a program that has no tests.
var build = tool{start: func(args []string, _ string) []string { return args }}

// onServe makes the tests of the SDKs, the dashboard and the clients use `postern serve` instead of the Workers.
var onServe = []string{"TEST_TARGET=serve"}

// table returns the parts in the order in which they start, with the longest first where possible. paths are the
// files of the repository.
func table(paths []string) []*part {
	return slices.Concat(builds(), []*part{
		{name: "browser", tool: nodeTest, cores: 1, needs: built, args: []string{"test/browser/*.test.mjs"}},
		{name: "conformance", tool: goTest, cores: 0.5, needs: built, args: []string{"./conformance", "-parallel", "4", "-timeout", "20m"}},
		{name: "go", tool: goTest, cores: 1, needs: built, args: packages(paths,
			"conformance", "core/governor", "test/budgets", "test/crash", "test/explore", "test/replicas", "test/sim")},
		{name: "sim", tool: goTest, cores: 1, args: []string{"./test/sim", "-seeds", "2000"}},
		{name: "explore", tool: goTest, cores: 1, args: []string{"./test/explore", "./test/budgets"}},
		{name: "governor", tool: goTest, cores: 1, args: []string{"./core/governor"}}, // prints recall and precision
		{name: "workers", tool: nodeTest, cores: 0.5, needs: built, args: []string{"worker/gateway/test/*.test.mjs", "control/web/test/*.test.mjs",
			"test/build/*.test.mjs", "test/deploy/*.test.mjs", "test/dev/*.test.mjs", "bench/test/*.test.mjs", "tools/release/*.test.mjs", "tools/words/*.test.mjs"}},
		{name: "site", tool: nodeTest, cores: 0.5, needs: []string{"build-site"}, args: []string{"test/site/*.test.mjs"}},
		{name: "browser-serve", tool: nodeTest, cores: 1, needs: built, env: onServe, args: []string{"test/browser/keys.test.mjs",
			"test/browser/session.test.mjs", "test/browser/usage.test.mjs", "test/browser/governor.test.mjs", "test/browser/palette.test.mjs", "test/browser/docs.test.mjs"}},
		{name: "sdk", tool: nodeTest, cores: 0.5, needs: built, args: []string{"test/sdk/*.test.mjs", "test/selfhosted/*.test.mjs"}},
		{name: "sdk-serve", tool: nodeTest, cores: 0.5, needs: built, env: onServe, args: []string{"test/sdk/*.test.mjs"}},
		{name: "agents", tool: nodeTest, cores: 0.5, needs: built, args: agents},
		{name: "agents-serve", tool: nodeTest, cores: 0.5, needs: built, env: onServe, args: agents},
		{name: "replicas", tool: goTest, cores: 0.5, args: []string{"./test/replicas"}},
		{name: "crash", tool: goTest, cores: 0.5, args: []string{"./test/crash"}},
		{name: "tools", tool: goTest, dir: "tools", cores: 1, args: []string{"./..."}},
	}, clientTests())
}

// agents are the tests of coding agents. They run one file at a time, because each agent uses a core.
var agents = []string{"--test-concurrency=1", "test/agents/*.test.mjs"}

// builds returns the builds that the tests need.
func builds() []*part {
	return []*part{
		{name: "catalog", tool: build, args: []string{"./build.sh", "catalog"}, cores: 1},
		{name: "build-panic", tool: build, args: []string{"./build.sh", "panic"}, cores: 1, needs: []string{"catalog"}},
		{name: "build", tool: build, args: []string{"./build.sh"}, cores: 1, needs: []string{"catalog", "build-site"}},
		{name: "bundle", tool: build, args: []string{"node", "worker/gateway/test/serve.mjs", "--bundle"}, cores: 1, needs: []string{"build-panic"}},
		{name: "programs", tool: build, args: []string{"sh", "-c",
			"node tools/pack-docs.mjs control/web/docsite --gzip && go build -o build/fakeprovider ./test/fakeprovider/serve && go build -o build/test/postern ./cmd/postern"}, cores: 1, needs: []string{"build"}},
		{name: "build-site", tool: build, args: []string{"./build.sh", "docs"}, cores: 1},
		{name: "build-clients", tool: build, args: []string{"node", "clients/build.mjs"}, cores: 1},
	}
}

var (
	built   = []string{"build", "bundle", "programs"}
	clients = append(slices.Clone(built), "build-clients")
)

// clientTests returns the tests of the client libraries.
func clientTests() []*part {
	return []*part{
		{name: "client-ts", tool: nodeTest, cores: 0.5, needs: clients, args: []string{"clients/ts/test/*.test.mjs"}},
		{name: "client-py", tool: pyTest, dir: "clients/python", cores: 0.5, needs: built},
		{name: "examples", tool: nodeTest, cores: 0.5, needs: clients, args: []string{"clients/examples/test/*.test.mjs"}},
		{name: "frameworks", tool: nodeTest, cores: 0.5, needs: clients, args: []string{"clients/ai-sdk/test/*.test.mjs", "clients/langchain/test/*.test.mjs"}},
		// -count=1, because Go does not notice changes of the cases.
		{name: "client-go", tool: goTest, dir: "clients/go", cores: 1, needs: built, args: append(race(), "-count=1", "./...")},
		{name: "client-ts-serve", tool: nodeTest, cores: 0.5, needs: clients, env: onServe, args: []string{"clients/ts/test/smoke.test.mjs"}},
		{name: "frameworks-serve", tool: nodeTest, cores: 0.5, needs: clients, env: onServe, args: []string{"clients/ai-sdk/test/gateway.test.mjs",
			"clients/langchain/test/gateway.test.mjs", "clients/langchain/test/standard.test.mjs"}},
		{name: "examples-serve", tool: nodeTest, cores: 0.5, needs: clients, env: onServe, args: []string{"clients/examples/test/handlers.test.mjs"}},
		{name: "client-py-serve", tool: pyTest, dir: "clients/python", cores: 0.5, needs: built, env: onServe, args: []string{"tests/test_gateway.py", "tests/test_docs.py"}},
	}
}

// race returns the flag for the race detector, which needs a C compiler.
func race() []string {
	if _, err := exec.LookPath("gcc"); err != nil {
		return nil
	}
	return []string{"-race"}
}

// packages returns the main module's packages with tests, as arguments of the go command. It omits the packages in
// folders that are separate parts.
func packages(paths []string, except ...string) (all []string) {
	modules := []string{}
	for _, file := range paths {
		if folder, name := path.Split(file); name == "go.mod" && folder != "" {
			modules = append(modules, folder)
		}
	}
	for _, file := range paths {
		folder := path.Dir(file)
		ours := !slices.ContainsFunc(modules, func(module string) bool { return strings.HasPrefix(file, module) })
		if strings.HasSuffix(file, "_test.go") && ours && !slices.Contains(except, folder) {
			all = append(all, "./"+folder)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// allAgents makes the agent tests run all agents and all their cases.
var allAgents = []string{"AGENTS=codex,claude,opencode,pi"}

// longForms returns the long versions of parts that table shortens. CONTRIBUTING.md says what each covers.
func longForms() []*part {
	return []*part{
		{name: "sim", tool: goTest, cores: 2, args: []string{"./test/sim", "-skip", "TestTrees$", "-seeds", "10000", "-timeout", "0"}},
		{name: "trees", tool: goTest, cores: 2, args: []string{"./test/sim", "-run", "TestTrees$", "-seeds", "20000", "-timeout", "0"}}, // half as many worlds
		{name: "crash", tool: goTest, cores: 2, args: []string{"./test/crash", "-kills", "100", "-timeout", "0"}},
		{name: "replicas", tool: goTest, cores: 2, args: []string{"./test/replicas", "-rounds", "50", "-outage", "30s", "-outages", "3", "-timeout", "1h"}},
		{name: "agents", tool: nodeTest, cores: 1, env: allAgents, args: agents},
		{name: "agents-serve", tool: nodeTest, cores: 1, env: append(slices.Clone(onServe), allAgents...), args: agents},
	}
}
