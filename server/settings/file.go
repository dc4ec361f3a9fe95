package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/postern-ai/postern/core/config"
	"github.com/postern-ai/postern/internal/nearest"
	"github.com/postern-ai/postern/internal/yamltree"
)

// envKey is the YAML file's key for the providers' variables. Below it, they are listed by name.
const envKey = "env"

// readYAML reads the YAML file into a layer. If the name is empty, the layer is empty.
func (l *loader) readYAML(name string) layer {
	f := yamlFile{loader: l, name: name, layer: layer{}}
	if name == "" {
		return f.layer
	}
	text, err := l.readFile(name)
	if err != nil {
		l.fail("cannot read the configuration file %q: %s", name, reason(err))
		return f.layer
	}
	root, err := yamltree.Parse(text)
	switch {
	case err != nil:
		l.fail("%s %s", name, colonBeforeLine(err))
	case root.Kind != yamltree.Map:
		l.fail("%s must be a map of settings, got %s", name, root.Kind)
	default:
		f.read(root, "")
	}
	return f.layer
}

// colonBeforeLine inserts the file's name: an error that starts with a line number becomes "FILE: line 3: …".
func colonBeforeLine(err error) string {
	if strings.HasPrefix(err.Error(), "line ") {
		return ": " + err.Error()
	}
	return err.Error()
}

type yamlFile struct {
	*loader
	name  string
	layer layer
}

func (f *yamlFile) place(line int, key string) string {
	return fmt.Sprintf("%s: line %d: %s", f.name, line, key)
}

// read reads a map whose keys have the given prefix.
func (f *yamlFile) read(node *yamltree.Node, prefix string) {
	known := fileKeys(prefix)
	for _, m := range node.Members {
		key := prefix + m.Key
		variable := variableOf(key)
		switch {
		case key == envKey:
			f.readEnv(m)
		case !slices.Contains(known, m.Key):
			f.fail("%s: line %d: unknown key %q%s", f.name, m.Line, key, nearest.Hint(m.Key, known))
		case m.Value.Kind == yamltree.Null: // treated as missing
		case variable == "":
			if m.Value.Kind != yamltree.Map {
				f.fail("%s must be a map, got %s", f.place(m.Line, key), m.Value.Kind)
				continue
			}
			f.read(m.Value, key+".")
		default:
			f.set(variable, f.place(m.Line, key), m.Value)
		}
	}
}

// readEnv reads the map of the providers' variables. checkNames reports unknown names.
func (f *yamlFile) readEnv(m yamltree.Member) {
	if m.Value.Kind != yamltree.Map {
		f.fail("%s must be a map from variable to value, got %s", f.place(m.Line, envKey), m.Value.Kind)
		return
	}
	for _, entry := range m.Value.Members {
		base := strings.TrimSuffix(entry.Key, fileSuffix)
		if v := find(base); v != nil {
			f.fail("%s has a key of its own: %q", f.place(entry.Line, entry.Key), keyIn(v, base != entry.Key))
		} else if entry.Value.Kind != yamltree.Null {
			f.set(entry.Key, f.place(entry.Line, entry.Key), entry.Value)
		}
	}
}

// set sets a variable to the text of a node.
func (f *yamlFile) set(name, place string, node *yamltree.Node) {
	switch {
	case name == config.EnvCatalog && node.Kind == yamltree.Map:
		f.layer[name] = value{string(node.JSON()), place}
	case name == config.EnvCatalog:
		f.fail("%s must be a map, got %s; for a file, use catalogFile", place, node.Kind)
	case node.Kind == yamltree.List:
		f.setList(name, place, node)
	case node.Kind == yamltree.Map:
		f.fail("%s must be a single value, got %s", place, node.Kind)
	case node.Kind == yamltree.Bool:
		f.layer[name] = value{map[string]string{"true": "on", "false": "off"}[node.Text], place}
	default:
		f.layer[name] = value{node.Text, place}
	}
}

// lists contains the variables whose values are lists. In the file, they may be YAML lists.
var lists = []string{"POSTERN_TRUSTED_PROXIES", "POSTERN_ACCESS_OWNERS", "POSTERN_MASTER_KEYS", "POSTERN_SIGNING_KEY"}

func (f *yamlFile) setList(name, place string, node *yamltree.Node) {
	var elements []string
	for _, element := range node.List {
		if element.Kind != yamltree.String || strings.Contains(element.Text, ",") {
			f.fail("%s must contain only strings without commas", place)
			return
		}
		elements = append(elements, element.Text)
	}
	if !slices.Contains(lists, name) {
		f.fail("%s must be a single value, got a list", place)
		return
	}
	if len(elements) > 0 {
		f.layer[name] = value{strings.Join(elements, ","), place}
	}
}

// keyIn returns the key of a variable, or of the file that contains its value.
func keyIn(v *Variable, inFile bool) string {
	if inFile {
		return v.Key + "File"
	}
	return v.Key
}

// variableOf returns the variable for a full key, such as POSTERN_LOG_LEVEL for log.level and
// POSTERN_ADMIN_TOKEN_FILE for adminTokenFile. It returns an empty string if there is none.
func variableOf(key string) string {
	for i := range variables {
		v := &variables[i]
		switch {
		case key == v.Key:
			return v.Name
		case key == v.Key+"File" && takesFile(v.Name):
			return v.Name + fileSuffix
		}
	}
	return ""
}

// fileKeys returns the keys that are allowed after a prefix such as "log.".
func fileKeys(prefix string) (keys []string) {
	if prefix == "" {
		keys = append(keys, envKey)
	}
	for i := range variables {
		v := &variables[i]
		rest, ok := strings.CutPrefix(v.Key, prefix)
		if !ok {
			continue
		}
		first, _, nested := strings.Cut(rest, ".")
		if !slices.Contains(keys, first) {
			keys = append(keys, first)
		}
		if !nested && takesFile(v.Name) {
			keys = append(keys, rest+"File")
		}
	}
	return keys
}
