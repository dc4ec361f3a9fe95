package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportAndImport moves a project to another deployment. Only the owner can read the exported file. An export
// never replaces an existing file. If it fails, no file is left.
func TestExportAndImport(t *testing.T) {
	from, to := newShell(t, deployment(t).URL), newShell(t, deployment(t).URL)
	from.ok("projects", "create", "Moved app", "--budget", "12.50")
	folder := t.TempDir()
	name := filepath.Join(folder, "deployment.ndjson")
	var summary moved
	from.decode(&summary, "export", name)
	if summary.Projects != 1 || summary.Objects < 2 || summary.Rows < 3 {
		t.Errorf("the summary is %+v", summary)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	from.fails(exitUsage, "exists", "export", name)
	if out := from.ok("export", "-"); !strings.HasPrefix(out, `{"format":"postern-deployment"`) || strings.Contains(out, "Exported") {
		t.Errorf("standard output is %.200q", out)
	}
	if out := to.ok("import", name); !strings.HasPrefix(out, "Imported 1 projects") {
		t.Errorf("import prints %q", out)
	}
	if out := to.ok("projects", "list"); !strings.Contains(out, "Moved app") {
		t.Errorf("after the import there is\n%s", out)
	}
	if _, said, code := to.run("import", name); code != exitOK || !strings.Contains(said, "has been imported") {
		t.Errorf("a second import: exit code %d, %q", code, said)
	}
	to.fails(exitFailed, "altered", "import", to.file("bad.ndjson", strings.Replace(contentOf(t, name), `"source":"`, `"source":"x`, 1)))
	to.fails(exitFailed, "no such file", "import", filepath.Join(folder, "missing"))
	to.fails(exitUsage, "needs", "import")
	wrong := &shell{t: t, environ: append([]string{"POSTERN_ADMIN_TOKEN=not-the-token-0123456789"}, from.environ...)}
	wrong.fails(exitFailed, "401", "export", filepath.Join(folder, "other"))
	if left, _ := filepath.Glob(filepath.Join(folder, "*")); len(left) != 1 {
		t.Errorf("files are left: %q", left)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, ".postern*")); len(left) != 0 {
		t.Errorf("files are left: %q", left)
	}
}

func contentOf(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
