package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/postern-ai/postern/control"
)

// demo is the demo project that is created on the first start.
type demo struct{ projectID, gatewayKey, projectKey string }

// makeDemo creates a project with two development keys. If the deployment already has a project, it returns nil.
func (s *Server) makeDemo(ctx context.Context) (*demo, error) {
	admin := adminClient{ctx, s.deployment()}
	list, err := admin.call(http.MethodGet, "?limit=1", nil)
	if err != nil || len(list.Projects) > 0 {
		return nil, err
	}
	project, err := admin.call(http.MethodPost, "", map[string]any{"name": "Demo", "plan": "developer"})
	if err != nil {
		return nil, err
	}
	d := &demo{projectID: project.ID}
	if _, err = admin.call(http.MethodPut, "/"+d.projectID+"/governor", map[string]any{"enabled": true}); err != nil {
		return nil, err
	}
	if d.gatewayKey, err = admin.makeKey(d.projectID, "Demo gateway key", "gateway"); err != nil {
		return nil, err
	}
	d.projectKey, err = admin.makeKey(d.projectID, "Demo project key", "project")
	return d, err
}

type adminClient struct {
	ctx        context.Context
	deployment *deployment
}

// adminReply has the fields of the admin API's replies that the demo needs.
type adminReply struct {
	ID       string
	Value    string
	Projects []struct{}
}

// call sends one request under /api/admin/projects.
func (a adminClient) call(method, path string, body any) (reply adminReply, err error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return reply, err
	}
	path = "/api/admin/projects" + path
	request, err := http.NewRequestWithContext(a.ctx, method, path, bytes.NewReader(encoded))
	if err != nil {
		return reply, err
	}
	request.Header.Set("Authorization", "Bearer "+a.deployment.config.Env[control.EnvAdminToken])
	request.Header.Set("Content-Type", "application/json")
	response := &memoryResponse{status: http.StatusOK, header: http.Header{}}
	a.deployment.control.ServeHTTP(response, request)
	if response.status >= http.StatusMultipleChoices {
		return reply, fmt.Errorf("%s %s: status %d: %s", method, path, response.status, response.body.Bytes())
	}
	if response.body.Len() > 0 {
		err = json.Unmarshal(response.body.Bytes(), &reply)
	}
	return reply, err
}

func (a adminClient) makeKey(projectID, name, kind string) (value string, err error) {
	key, err := a.call(http.MethodPost, "/"+projectID+"/keys", map[string]any{"name": name, "kind": kind, "environment": "development"})
	return key.Value, err
}

type memoryResponse struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (m *memoryResponse) Header() http.Header            { return m.header }
func (m *memoryResponse) WriteHeader(status int)         { m.status = status }
func (m *memoryResponse) Write(data []byte) (int, error) { return m.body.Write(data) }
