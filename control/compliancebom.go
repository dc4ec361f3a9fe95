package control

import (
	"net/http"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Properties of CycloneDX components. They name what the format has no field for.
const bomProperty = "postern:"

// bomContentType is the media type of CycloneDX in JSON (www.iana.org/assignments/media-types).
const bomContentType = "application/vnd.cyclonedx+json; version=1.7"

// bom is the inventory in CycloneDX 1.7: one machine-learning-model per model.
func (e *export) bom() (answer, error) {
	all, err := e.inventory(e, e.project)
	if err != nil {
		return answer{}, err
	}
	components := make([]cdx.Component, len(all))
	for i := range all {
		components[i] = e.modelComponent(&all[i])
	}
	b := cdx.NewBOM()
	b.SpecVersion = cdx.SpecVersion1_7
	b.Metadata = &cdx.Metadata{
		Timestamp: timestamp(e.nowMs()),
		Tools:     &cdx.ToolsChoice{Components: &[]cdx.Component{{Type: cdx.ComponentTypeApplication, Name: "Postern"}}},
		Component: &cdx.Component{Type: cdx.ComponentTypeApplication, BOMRef: e.project.ID, Name: e.project.Name},
	}
	b.Components = &components
	text, err := encode(b)
	return answer{http.StatusOK, file{bomContentType, text}}, err
}

// modelComponent is a model. Empty fields are left out.
func (e *export) modelComponent(m *registryEntry) cdx.Component {
	c := cdx.Component{Type: cdx.ComponentTypeMachineLearningModel, BOMRef: m.ID, Name: m.Model, Description: string(m.Purpose)}
	if known := e.Catalog.Model(m.Model); known != nil {
		c.Supplier = &cdx.OrganizationalEntity{Name: known.Provider.Name}
	}
	card := &cdx.MLModelCard{}
	if m.Purpose != "" {
		card.Considerations = &cdx.MLModelCardConsiderations{UseCases: &[]string{string(m.Purpose)}}
	}
	c.ModelCard = card
	c.Properties = modelProperties(m)
	if len(m.Links) > 0 {
		var links []cdx.ExternalReference
		for _, link := range m.Links {
			links = append(links, cdx.ExternalReference{Type: cdx.ERTypeDocumentation, URL: link})
		}
		c.ExternalReferences = &links
	}
	return c
}

// modelProperties are the governance fields of an entry.
func modelProperties(m *registryEntry) *[]cdx.Property {
	var all []cdx.Property
	add := func(name string, values ...string) {
		if value := strings.Join(values, ", "); value != "" {
			all = append(all, cdx.Property{Name: bomProperty + name, Value: value})
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
	return &all
}
