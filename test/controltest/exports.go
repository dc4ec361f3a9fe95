package controltest

import "context"

// Exports collects the exports of a test.
type Exports struct {
	Files map[string]string
	Order []string
	Fail  func(name string) error
}

// Put implements Config.Exports.
func (e *Exports) Put(_ context.Context, name string, body []byte) error {
	if e.Fail != nil {
		if err := e.Fail(name); err != nil {
			return err
		}
	}
	e.Files[name] = string(body)
	e.Order = append(e.Order, name)
	return nil
}

// Hourly does the scheduled hourly work.
func (b *Bench) Hourly() error { return b.Service.Hourly(b.Context()) }
