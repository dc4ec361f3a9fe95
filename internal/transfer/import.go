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

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/internal/admin"
)

// ErrImported means that the deployment already has this file's state.
var ErrImported = errors.New("the file has been imported into this deployment before; nothing was changed")

// checked is a file that has been read completely.
type checked struct {
	header
	Summary
	id       string // the checksum
	projects []string
	groups   []string
}

// check reads and checks an entire file.
func check(from io.ReadSeeker) (*checked, error) {
	projects, groups := map[string]bool{}, map[string]bool{}
	r, err := scan(from, func(r *reader, p *page) error {
		if p.Object == directoryObject {
			for _, row := range p.Rows {
				d, ok, err := directory.MovedDocument(abi.Row{Key: row.Key, Value: row.Value})
				if id, isProject := strings.CutPrefix(d.Key, doc.ProjectKey("")); ok && isProject && err == nil {
					projects[id] = true
				}
				if id, isGroup := strings.CutPrefix(d.Key, doc.AllGroups); ok && isGroup && err == nil {
					groups[id] = true
				}
			}
			return nil
		}
		owner, isLedger := strings.CutPrefix(p.Object, ledgerPrefix)
		owner, _ = doc.UnitOf(owner)
		if isLedger && p.Project == "" && (groups[owner] || owner == doc.Root && len(groups) > 0) {
			return nil
		}
		if !projects[p.Project] || isLedger && owner != p.Project {
			return r.fault("is about a project or group that the file does not have")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	found := slices.Sorted(maps.Keys(projects))
	return &checked{r.header, Summary{len(found), r.end.Objects, r.end.Rows}, r.end.SHA256, found, slices.Sorted(maps.Keys(groups))}, nil
}

// scan reads a file from its beginning.
func scan(from io.ReadSeeker, use func(*reader, *page) error) (*reader, error) {
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	r, err := newReader(from)
	if err != nil {
		return nil, err
	}
	for {
		p, err := r.page()
		if err != nil || p == nil {
			return r, err
		}
		if err := use(r, p); err != nil {
			return r, err
		}
	}
}

// Import writes the state in a file to a deployment. It first checks the whole file. If it is interrupted, it may be
// repeated with the same file.
func Import(ctx context.Context, client Client, from io.ReadSeeker) (Summary, error) {
	file, err := check(from)
	if err != nil {
		return Summary{}, err
	}
	// Every call may be repeated, because rows are replaced with identical rows.
	i := &importer{ctx: admin.WithRetry(ctx), client: client, id: file.id}
	var state struct{ Finished bool }
	begin := struct {
		Import   string   `json:"import"`
		Projects []string `json:"projects"`
		Groups   []string `json:"groups,omitempty"`
	}{file.id, append([]string{}, file.projects...), file.groups}
	if err := i.post("", begin, &state); err != nil {
		return Summary{}, err
	}
	if state.Finished {
		return file.Summary, ErrImported
	}
	return file.Summary, i.send(from)
}

type importer struct {
	ctx    context.Context
	client Client
	id     string
	object string  // object of the last page that was sent
	batch  []*page // meters that have only one page; they are sent at the same time
}

func (i *importer) post(path string, body, out any) error {
	return i.client.Do(i.ctx, http.MethodPost, "/api/admin/import"+path, body, out)
}

// send sends the ledgers, then the meters, and finally the Directory. Projects therefore appear only when their
// objects are complete.
func (i *importer) send(from io.ReadSeeker) error {
	for _, directoryTurn := range []bool{false, true} {
		if _, err := scan(from, func(_ *reader, p *page) error {
			if (p.Object == directoryObject) != directoryTurn {
				return nil
			}
			return i.page(p)
		}); err != nil {
			return err
		}
		if err := i.flush(); err != nil {
			return err
		}
	}
	return i.post("/finish", map[string]string{"import": i.id}, nil)
}

// page sends a page. If the page is a complete meter, it keeps it for the next batch.
func (i *importer) page(p *page) error {
	first := i.object != p.Object
	i.object = p.Object
	if rank(p.Object) == 2 && first && p.Last {
		if i.batch = append(i.batch, p); len(i.batch) < atOnce {
			return nil
		}
		return i.flush()
	}
	if err := i.flush(); err != nil {
		return err
	}
	return i.rows(p, first)
}

func (i *importer) flush() error {
	batch := i.batch
	i.batch = nil
	return parallel(len(batch), func(n int) error { return i.rows(batch[n], true) })
}

func (i *importer) rows(p *page, first bool) error {
	body := struct {
		Import string `json:"import"`
		page
		First bool `json:"first"`
	}{i.id, *p, first}
	if err := i.post("/rows", body, nil); err != nil {
		return fmt.Errorf("%s: %w", p.Object, err)
	}
	return nil
}
