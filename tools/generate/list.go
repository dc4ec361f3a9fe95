package main

// generator writes derived files. Bash runs its command in the root of the repository.
type generator struct {
	writes  string // for readers
	command string
	test    string // the Go test that compares the files and writes them if -rewrite is set; "" if command writes them
}

// generators lists every committed file that is derived from others. To add one, add a line. A generator may read
// files that the generators above it write.
//
// Not in the list:
//   - measurements, which differ from run to run: bench/results.json (make bench-docs keeps those of the last run, from
//     which the list's command writes documents) and docs/overview.png (make screenshot);
//   - held-out sets, testdata/governor/heldout: they measure the Governor, so they do not follow its rules;
//   - limits that somebody decides, tools/ratchets.json (make ratchets);
//   - build products that are not committed, such as core.wasm and the types of the Workers.
var generators = []generator{
	{writes: "the wire: core/abi/*_gen.go and worker/gateway/src/abi.ts", command: "go generate ./core/abi"},
	{writes: "core/catalog/catalog.bin", command: "go generate ./core/catalog"},
	{writes: "the version of the client libraries", command: "node clients/version.mjs"},
	{writes: "clients/python/src/postern/_sync", command: "python3 clients/python/tools/unasync.py"},
	{writes: "docs/clients/reference/go.md", command: "cd tools && go run ./reference"},
	{writes: "docs/clients/reference/python.md", command: "python3 clients/python/tools/reference.py"},
	{writes: "docs/clients/reference/typescript.md", command: "node clients/ts/tools/reference.mjs"},
	{writes: "RATIONALE.md, the index of docs/project/decisions", command: "cd tools && go run ./decisions"},
	{writes: "the figures in docs/project/performance.md and README.md", command: "node bench/docs.mjs"},

	golden("docs/reference: errors, headers, configuration, plans, catalog", "./internal/reference", "TestPages"),
	golden("docs/reference/cli.md", "./cmd/postern", "TestReference"),
	golden("testdata/faults.json", "./core/fault", "TestGeneratedJSON"),
	golden("control/web/src/remedies.json", "./core/fault", "TestGeneratedRemedies"),
	golden("core/governor/tables.go", "./core/governor", "TestTables"),
	golden("testdata/abi/vectors.json", "./core/abi", "TestVectorsFile"),
	golden("testdata/abi/constants.json", "./core/abi", "TestConstantsFile"),
	golden("testdata/abi/lastresort.json", "./core", "TestLastResortFile"),
	golden("testdata/compliance/chain.json", "./core/chain", "TestVectors"),
	golden("testdata/compliance/checkpoints.json", "./compliance", "TestCheckpointVectors"),
	golden("server/settings/testdata", "./server/settings", "TestGolden"),
	golden("the diagram in docs/project/architecture.md", "./core/exchange", "TestDiagram"),
	golden("the tables in docs/reference/translation.md", "./core/exchange", "TestTranslation"),
	golden("core/exchange/testdata", "./core/exchange", "TestTranscripts"),
	golden("test/explore/testdata/ends", "./test/explore", "TestExplore"),
}

// golden returns the generator for files that a Go test compares. With the flag -rewrite, the test writes them.
func golden(writes, folder, name string) generator {
	test := "go test " + folder + " -run '^" + name + "$'"
	return generator{writes, test + " -rewrite", test}
}
