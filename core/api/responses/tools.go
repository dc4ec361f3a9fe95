package responses

import (
	"github.com/tidwall/gjson"

	"github.com/postern-ai/postern/core/api"
	"github.com/postern-ai/postern/core/chat"
	"github.com/postern-ai/postern/core/jsonvalue"
)

const (
	wireName = "responses"
	// maxToolCalls is the largest limit of provider tools' calls that a request may set.
	maxToolCalls = 1000
	// container is the catalog's name of a container that runs code, with the memory after a dot if it is not 1 GB.
	container = "code_interpreter"
)

// use records a provider tool.
func use(p *api.Parser, field string, v gjson.Result) {
	kind := jsonvalue.Get(v.Raw, "type")
	if kind.Type != gjson.String || kind.Str == "" {
		p.WrongType(field+".type", "a non-empty string", kind)
		return
	}
	name := chat.ToolName(kind.Str)
	switch environment := jsonvalue.Get(v.Raw, "environment"); {
	case name == container:
		name = containerName(jsonvalue.Get(v.Raw, "container"))
	case name == "shell" && jsonvalue.Get(environment.Raw, "type").Exists() && jsonvalue.Get(environment.Raw, "type").Str != "local":
		name = containerName(environment)
	case name == "namespace":
		uses(p, field, v)
	case name == "function":
		return
	}
	p.Use(wireName, field+".type", name, gjson.Result{})
}

// containerName is the catalog's name of a container. One that exists already has an ID and any size, so it has no price.
func containerName(v gjson.Result) string {
	if !v.IsObject() || jsonvalue.Get(v.Raw, "container_id").Exists() {
		return container + ".id"
	}
	switch memory := jsonvalue.Get(v.Raw, "memory_limit"); {
	case memory.Type == gjson.Null, memory.Str == "1g":
		return container
	default:
		return container + "." + memory.String()
	}
}

// uses records the tools that an item or a namespace declares.
func uses(p *api.Parser, field string, v gjson.Result) {
	i := 0
	api.Each(jsonvalue.Get(v.Raw, "tools"), func(t gjson.Result) {
		use(p, api.At(field+".tools", i, ""), t)
		i++
	})
}
