package compliance

import (
	"strings"

	"github.com/postern-ai/postern/control/inventory"
	"github.com/postern-ai/postern/control/kernel"
)

// bomProperty is the prefix of CycloneDX properties. These properties hold data for which the format has no field.
const bomProperty = "postern:"

// Constants of CycloneDX 1.7 (cyclonedx.org/docs/1.7/json), and its JSON media type
// (www.iana.org/assignments/media-types).
const (
	bomSchemaURL   = "http://cyclonedx.org/schema/bom-1.7.schema.json"
	bomContentType = "application/vnd.cyclonedx+json; version=1.7"
	bomApplication = "application"
	bomModel       = "machine-learning-model"
	bomLink        = "documentation"
)

// These types are the part of CycloneDX 1.7 that the inventory uses.
type (
	bom struct {
		Schema      string         `json:"$schema"`
		BOMFormat   string         `json:"bomFormat"`
		SpecVersion string         `json:"specVersion"`
		Version     int            `json:"version"`
		Metadata    bomMetadata    `json:"metadata"`
		Components  []bomComponent `json:"components"`
	}
	bomMetadata struct {
		Timestamp string       `json:"timestamp"`
		Tools     bomTools     `json:"tools"`
		Component bomComponent `json:"component"`
	}
	bomTools struct {
		Components []bomComponent `json:"components"`
	}
	bomComponent struct {
		Ref         string         `json:"bom-ref,omitempty"`
		Type        string         `json:"type"`
		Supplier    *bomSupplier   `json:"supplier,omitempty"`
		Name        string         `json:"name"`
		Description string         `json:"description,omitempty"`
		Links       []bomReference `json:"externalReferences,omitempty"`
		Properties  []bomField     `json:"properties,omitempty"`
		ModelCard   *bomModelCard  `json:"modelCard,omitempty"`
	}
	bomSupplier struct {
		Name string `json:"name"`
	}
	bomReference struct {
		URL  string `json:"url"`
		Type string `json:"type"`
	}
	bomField struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	bomModelCard struct {
		Considerations *bomConsiderations `json:"considerations,omitempty"`
	}
	bomConsiderations struct {
		UseCases []string `json:"useCases"`
	}
)

// bom returns the inventory in CycloneDX 1.7: one machine-learning-model per model.
func (e *export) bom() (kernel.Answer, error) {
	all, err := inventory.List(e, e.handler.Plane, e.project)
	if err != nil {
		return kernel.Answer{}, err
	}
	components := make([]bomComponent, len(all))
	for i := range all {
		components[i] = e.modelComponent(&all[i])
	}
	text, err := kernel.Encode(bom{
		Schema: bomSchemaURL, BOMFormat: "CycloneDX", SpecVersion: "1.7", Version: 1,
		Metadata: bomMetadata{
			Timestamp: kernel.Timestamp(e.NowMs()),
			Tools:     bomTools{[]bomComponent{{Type: bomApplication, Name: "Postern"}}},
			Component: bomComponent{Type: bomApplication, Ref: e.project.ID, Name: e.project.Name},
		},
		Components: components,
	})
	return kernel.OK(kernel.File{ContentType: bomContentType, Data: text}), err
}

// modelComponent returns the component for a model. Empty fields are left out.
func (e *export) modelComponent(m *inventory.Entry) bomComponent {
	c := bomComponent{Type: bomModel, Ref: m.ID, Name: m.Model, Description: string(m.Purpose), ModelCard: &bomModelCard{}}
	if known := e.Catalog.Model(m.Model); known != nil {
		c.Supplier = &bomSupplier{known.Provider.Name}
	}
	if m.Purpose != "" {
		c.ModelCard.Considerations = &bomConsiderations{[]string{string(m.Purpose)}}
	}
	c.Properties = modelProperties(m)
	for _, link := range m.Links {
		c.Links = append(c.Links, bomReference{URL: link, Type: bomLink})
	}
	return c
}

func modelProperties(m *inventory.Entry) []bomField {
	var all []bomField
	add := func(name string, values ...string) {
		if value := strings.Join(values, ", "); value != "" {
			all = append(all, bomField{Name: bomProperty + name, Value: value})
		}
	}
	add("state", m.State.String())
	add("owner", string(m.Owner))
	add("riskTier", string(m.RiskTier))
	add("dataClasses", m.DataClasses...)
	add("regions", m.Regions...)
	add("retention", string(m.Retention))
	for i := range m.Approvals {
		add("approval", m.Approvals[i].By+": "+m.Approvals[i].Reason)
	}
	return all
}
