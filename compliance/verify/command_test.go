package verify_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/compliance/verify"
)

const key = "O2onvM62pC1io6jQKm8Nc2UyFXcd4kOmOsBIoYtZ2ik="

// Wrong arguments and unreadable files have their own exit code, because they say nothing about the export.
func TestMisuse(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	page, err := compliance.Page(&compliance.Header{Format: compliance.Format, Version: compliance.FormatVersion, Type: compliance.Inventory, Project: "p"}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	export := write("export", string(page))
	for _, c := range []struct {
		arguments []string
		code      int
		want      string
	}{
		{nil, verify.Misused, "name at least one export file"},
		{[]string{"-help"}, verify.Valid, "Exit codes: 0 valid"},
		{[]string{"-wrong"}, verify.Misused, "-wrong"},
		{[]string{export}, verify.Misused, "pass the public key with -key"},
		{[]string{"-key", "x", export}, verify.Misused, "must be 32 bytes in base64"},
		{[]string{"-key", key, filepath.Join(dir, "none")}, verify.Misused, "no such file"},
		{[]string{"-key", key, "-checkpoint", filepath.Join(dir, "none"), export}, verify.Misused, "no such file"},
		{[]string{"-key", key, "-checkpoint", write("bad", "{"), export}, verify.Misused, "bad"},
		{[]string{"-key", key, "-checkpoint", write("empty", `{"checkpoints":[]}`), export}, verify.Misused, "no checkpoints"},
		{[]string{"-key", key, export}, verify.Misused, "has no chain to check"},
		{[]string{"-key", key, write("nothing", "")}, verify.Broken, "the file is empty"},
		{[]string{"-key", key, write("text", "hello\n")}, verify.Broken, "INVALID: "},
		{[]string{"--key", key, "--json", write("nothing", "")}, verify.Broken, `"problem": "`},
		{[]string{"-key", key, "-"}, verify.Broken, "the export's header is missing"},
	} {
		var out strings.Builder
		if code := verify.Run("verify", c.arguments, strings.NewReader(`{"record":"event"}`), &out, &out); code != c.code || !strings.Contains(out.String(), c.want) {
			t.Errorf("%q: %d %s", c.arguments, code, out.String())
		}
	}
}
