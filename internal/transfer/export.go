package transfer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/internal/admin"
)

// Client calls the admin API. admin.Client implements it.
type Client interface {
	Do(ctx context.Context, method, path string, body, out any) error
}

// Limits of an export. A few seconds after the last request, keys have reported their usage, and outboxes have been
// delivered.
const (
	maxPasses = 8
	passPause = 3 * time.Second
	atOnce    = 8 // meters
)

// Export describes an export.
type Export struct {
	Client  Client
	Source  string // the deployment's address; it is written to the header
	Version string // of this program
	Now     time.Time
	// Progress is called with messages for the operator; optional.
	Progress func(string)
	// Sleep replaces the pause between two passes in tests; optional.
	Sleep func(ctx context.Context, d time.Duration) error
}

// Spool is a file that can be rewritten from its beginning.
type Spool interface {
	io.WriteSeeker
	Truncate(size int64) error
}

// Summary is the content of a file.
type Summary struct{ Projects, Objects, Rows int }

// Write writes a deployment to a file. It cannot read all objects at one moment, so it reads all of them again and
// again until two consecutive passes are equal. Then no object has changed between its two reads. The file therefore
// has the state of all objects at the moment between the passes. If the deployment keeps changing, Write fails.
func (e *Export) Write(ctx context.Context, to Spool) (Summary, error) {
	ctx = admin.WithRetry(ctx) // reads are safe to repeat
	var before map[string]string
	var changed []string
	for n := range maxPasses {
		if n > 1 || n == 1 && before == nil {
			if err := e.sleep(ctx); err != nil {
				return Summary{}, err
			}
		}
		p, err := e.pass(ctx, to)
		switch {
		case admin.Is(err, http.StatusConflict):
			e.progress(err.Error())
			before, changed = nil, []string{err.Error()}
			continue
		case err != nil:
			return Summary{}, err
		}
		hashes := p.out.hashes()
		if before != nil && maps.Equal(before, hashes) {
			return Summary{len(p.projects), len(hashes), p.out.rows}, p.out.end()
		}
		if before != nil {
			changed = differences(before, hashes)
			e.progress("changed during the reading: " + strings.Join(changed, ", "))
		}
		before = hashes
	}
	return Summary{}, fmt.Errorf("the deployment kept changing during the export (%s); stop its traffic and try again", strings.Join(changed, ", "))
}

func (e *Export) progress(text string) {
	if e.Progress != nil {
		e.Progress(text)
	}
}

func (e *Export) sleep(ctx context.Context) error {
	if e.Sleep != nil {
		return e.Sleep(ctx, passPause)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(passPause):
		return nil
	}
}

// differences returns up to five names whose hashes differ.
func differences(a, b map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(a)) {
		if a[name] != b[name] {
			names = append(names, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if a[name] == "" {
			names = append(names, name)
		}
	}
	return names[:min(len(names), 5)]
}

type pass struct {
	*Export
	out      *writer
	projects map[string]string // regions by ID
	ledgers  map[string]page   // the first page without rows, by name
	meters   map[string]string // projects by name
}

func (e *Export) pass(ctx context.Context, to Spool) (*pass, error) {
	_, err := to.Seek(0, io.SeekStart)
	if err := errors.Join(err, to.Truncate(0)); err != nil {
		return nil, err
	}
	p := &pass{Export: e, out: newWriter(to), projects: map[string]string{}, ledgers: map[string]page{}, meters: map[string]string{}}
	_, err = p.out.line(header{Format, FormatVersion, e.Source, e.Now.UTC().Format(time.RFC3339), e.Version})
	if err == nil {
		err = p.directory(ctx)
	}
	if err == nil {
		err = p.allLedgers(ctx)
	}
	if err == nil {
		err = p.allMeters(ctx)
	}
	return p, err
}

func (p *pass) directory(ctx context.Context) error {
	return p.each(ctx, page{Object: directoryObject}, func(read *page) error {
		for _, row := range read.Rows {
			if err := p.document(abi.Row{Key: row.Key, Value: row.Value}); err != nil {
				return err
			}
		}
		return p.out.page(read)
	})
}

// document records the projects, groups and keys.
func (p *pass) document(row abi.Row) error {
	d, ok, err := directory.MovedDocument(row)
	switch {
	case err != nil:
		return fmt.Errorf("directory: the row %s is malformed", row.Key)
	case ok && strings.HasPrefix(d.Key, doc.ProjectKey("")):
		found, err := directory.DecodeProject(d)
		if err != nil {
			return fmt.Errorf("directory: the project %s is malformed", d.Key)
		}
		p.projects[found.ID] = found.Region
		p.ledger(found.ID, page{Project: found.ID, Region: found.Region}, found.Limits != doc.PeriodLimits{})
	case ok && strings.HasPrefix(d.Key, doc.AllGroups):
		found, err := directory.DecodeGroup(d)
		if err != nil {
			return fmt.Errorf("directory: the group %s is malformed", d.Key)
		}
		p.ledger(found.ID, page{}, true)
		p.ledger(doc.Root, page{}, true) // it has the usage of all groups
	case ok && strings.HasPrefix(d.Key, "k/"):
		found, err := directory.DecodeKey(d)
		if err != nil {
			return fmt.Errorf("directory: the key %s is malformed", d.Key)
		}
		p.meters[found.Hash] = found.ProjectID
	}
	return nil
}

// ledger records the ledger of a project or group, and if it counts requests or tokens, its ledgers for these.
func (p *pass) ledger(id string, of page, counts bool) {
	p.ledgers[id] = of
	for _, u := range []doc.Unit{doc.Requests, doc.Tokens} {
		if counts {
			p.ledgers[doc.LedgerName(id, u)] = of
		}
	}
}

// allLedgers reads the ledgers. It also records the meters of removed keys, which are not in the Directory. The ledgers of
// groups have no meters that the ledgers of projects do not have.
func (p *pass) allLedgers(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(p.ledgers)) {
		of := p.ledgers[name]
		of.Object = ledgerPrefix + name
		err := p.each(ctx, of, func(read *page) error {
			for _, row := range read.Rows {
				if meter, ok := ledger.MovedMeter(abi.Row{Key: row.Key}); ok && of.Project != "" {
					p.meters[meter] = of.Project
				}
			}
			return p.out.page(read)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// allMeters reads all meters, a few at a time.
func (p *pass) allMeters(ctx context.Context) error {
	for names := range slices.Chunk(slices.Sorted(maps.Keys(p.meters)), atOnce) {
		read := make([][]*page, len(names))
		err := parallel(len(names), func(i int) error {
			project := p.meters[names[i]]
			meter := page{Object: meterPrefix + names[i], Project: project, Region: p.projects[project]}
			return p.each(ctx, meter, func(one *page) error {
				read[i] = append(read[i], one)
				return nil
			})
		})
		if err != nil {
			return err
		}
		for _, one := range slices.Concat(read...) {
			if err := p.out.page(one); err != nil {
				return err
			}
		}
	}
	return nil
}

// each reads an object page by page. It leaves out pages without rows. It must know whether a page is the last one,
// so it holds each page back until it has read the next one.
func (p *pass) each(ctx context.Context, of page, use func(*page) error) error {
	var held *page
	after := ""
	for {
		request := struct {
			Object string `json:"object"`
			After  string `json:"after,omitempty"`
		}{of.Object, after}
		var reply struct {
			Rows []row   `json:"rows"`
			Next *string `json:"next"`
		}
		if err := p.Client.Do(ctx, http.MethodPost, "/api/admin/export", request, &reply); err != nil {
			return err
		}
		if len(reply.Rows) > 0 {
			if held != nil {
				if err := use(held); err != nil {
					return err
				}
			}
			next := of
			next.Rows, held = reply.Rows, &next
		}
		if reply.Next == nil {
			break
		}
		if *reply.Next <= after {
			return fmt.Errorf("%s: the deployment repeats pages", of.Object)
		}
		after = *reply.Next
	}
	if held == nil {
		return nil
	}
	held.Last = true
	return use(held)
}

// parallel calls f concurrently for 0 to n-1 and returns the errors.
func parallel(n int, f func(int) error) error {
	failures := make(chan error, n)
	for i := range n {
		go func() { failures <- f(i) }()
	}
	var err error
	for range n {
		err = errors.Join(err, <-failures)
	}
	return err
}
