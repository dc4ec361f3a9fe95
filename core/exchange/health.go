package exchange

// health answers GET /api/health.
func (x *exchange) health() {
	b := append([]byte(nil), `{"status":"ok","authenticated":true,"project_id":"`...)
	b = append(b, x.s.record.ProjectID...)
	x.respondJSON(append(b, `"}`...))
}
