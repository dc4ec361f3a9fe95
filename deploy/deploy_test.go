// Package deploy has only tests: of the container images, the compose file, the systemd unit, the example files, and what a
// code host reads.
package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/postern-ai/postern/internal/apply"
	"github.com/postern-ai/postern/server/settings"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// checkVariables reports names that the server does not know.
func checkVariables(t *testing.T, file string, found []string) {
	t.Helper()
	known := settings.ProviderVariables("")
	for _, v := range settings.Variables() {
		known = append(known, v.Name)
	}
	if len(found) == 0 {
		t.Errorf("%s sets no variables", file)
	}
	for _, name := range found {
		if !slices.Contains(known, strings.TrimSuffix(name, "_FILE")) && name != settings.EnvConfig {
			t.Errorf("%s sets the unknown variable %s", file, name)
		}
	}
}

var variable = regexp.MustCompile(`\b(?:POSTERN|OPENAI)_[A-Z_]+`)

func TestDockerfile(t *testing.T) {
	text := read(t, "Dockerfile")
	checkVariables(t, "Dockerfile", variable.FindAllString(text, -1))
	_, last, found := strings.Cut(text, "\nFROM scratch\n")
	if !found || strings.Contains(last, "\nFROM ") || strings.Contains(last, "\nRUN ") {
		t.Error("the last stage must be from scratch, which cannot run commands")
	}
	for _, want := range []string{"\nUSER 65532:65532\n", `CMD ["/postern", "doctor", "--live"]`, `ENTRYPOINT ["/postern"]`, "\nSTOPSIGNAL SIGTERM\n", "\nEXPOSE 8787\n"} {
		if !strings.Contains("\n"+last, want) {
			t.Errorf("the last stage lacks %q", strings.TrimSpace(want))
		}
	}
	copied := regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`)
	for _, line := range copied.FindAllStringSubmatch(text, -1) {
		for _, source := range strings.Fields(line[1]) {
			if _, err := os.Stat(filepath.Join("..", source)); err != nil {
				t.Errorf("COPY: %v", err)
			}
		}
	}
	if goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod")); !strings.Contains(text, "FROM golang:"+goVersion[1]+" ") {
		t.Errorf("go.mod wants Go %s", goVersion[1])
	}
}

// TestReleaseDockerfile checks that the image of a release runs the program as the image from source does.
func TestReleaseDockerfile(t *testing.T) {
	settings := func(name string) (kept []string) {
		_, last, _ := strings.Cut(read(t, name), "\nUSER ")
		return strings.Split(last, "\n")
	}
	if want, got := settings("Dockerfile"), settings("release.Dockerfile"); len(want) < 5 || !slices.Equal(got, want) {
		t.Errorf("from USER on, release.Dockerfile has\n%s\nand Dockerfile\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if text := read(t, "release.Dockerfile"); strings.Contains(text, "\nRUN ") || strings.Count(text, "\nFROM scratch") != 2 {
		t.Error("release.Dockerfile must unpack an archive without running anything")
	}
}

// TestImage builds the image where a Docker daemon answers.
func TestImage(t *testing.T) {
	if out, err := exec.Command("docker", "info").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: THE CONTAINER IMAGE WAS NOT BUILT, because no Docker daemon answers: %v\n%s", err, out)
	}
	if out, err := exec.Command("docker", "build", "-f", "Dockerfile", "-t", "postern-test", "..").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := exec.Command("docker", "run", "--rm", "postern-test", "version").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestCompose(t *testing.T) {
	text := read(t, "compose.yaml")
	checkVariables(t, "compose.yaml", variable.FindAllString(regexp.MustCompile(`(?m)^#.*$`).ReplaceAllString(text, ""), -1))
	var file struct {
		Services map[string]struct {
			Secrets []string
			Volumes []string
		}
		Secrets map[string]struct{ File string }
		Volumes map[string]any
	}
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Services) != 3 || len(file.Services["postern-1"].Secrets) == 0 || len(file.Services["postern-2"].Secrets) == 0 {
		t.Fatalf("services: %+v", file.Services)
	}
	for name, service := range file.Services {
		for _, secret := range service.Secrets {
			if file.Secrets[secret].File == "" || !strings.Contains(text, "> deploy/"+file.Secrets[secret].File) {
				t.Errorf("%s: secret %s has no file that the head of compose.yaml makes", name, secret)
			}
		}
	}
}

func TestUnit(t *testing.T) {
	text := read(t, "postern.service")
	checkVariables(t, "postern.service", variable.FindAllString(text, -1))
	for _, want := range []string{"\nExecStart=/usr/local/bin/postern serve\n", "\nDynamicUser=yes\n", "\nProtectSystem=strict\n", "\nUMask=0077\n", "\nEnvironment=POSTERN_DATA=/var/lib/postern\n", "\nStateDirectory=postern\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the unit lacks %s", strings.TrimSpace(want))
		}
	}
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: systemd-analyze is not installed")
	}
	unit := filepath.Join(t.TempDir(), "postern.service") // with a program that exists
	if err := os.WriteFile(unit, []byte(strings.Replace(text, "/usr/local/bin/postern", "/bin/true", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit).CombinedOutput()
	if strings.Contains(string(out), unit+":") || strings.Contains(string(out), "Unknown key") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestExamples(t *testing.T) {
	_, err := settings.Load(settings.Source{File: "postern.yaml", ReadFile: func(name string) ([]byte, error) {
		if name != "postern.yaml" {
			return []byte("sk-test\n"), nil
		}
		return os.ReadFile(name)
	}})
	if err != nil {
		t.Error(err)
	}
	if _, err := apply.Parse("projects.yaml", []byte(read(t, "projects.yaml"))); err != nil {
		t.Error(err)
	}
}
