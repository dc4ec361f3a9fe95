// Package deployment exports the rows of all objects of a deployment and imports them into another one.
package deployment

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/doc"
	"github.com/postern-ai/postern/core/fault"
	"github.com/postern-ai/postern/core/ledger"
	"github.com/postern-ai/postern/core/move"
)

type handler struct {
	*kernel.Plane
	coverAll func(context.Context, *kernel.Plane) error
}

// Routes returns the endpoints that export and import a deployment. coverAll brings the settings of the deployment itself
// to all projects, imported or not.
func Routes(p *kernel.Plane, coverAll func(context.Context, *kernel.Plane) error) []kernel.Route {
	h := &handler{p, coverAll}
	return []kernel.Route{
		{Method: http.MethodPost, Path: exportPath, For: kernel.Owners, Body: kernel.MaxBody, Audit: "deployment.export", Operation: "exportObject", Serve: h.exportObject},
		{Method: http.MethodPost, Path: importPath, For: kernel.Owners, Body: maxImportBytes, Audit: kernel.Unaudited, Operation: "beginImport", Serve: h.beginImport},
		{Method: http.MethodPost, Path: importPath + "/rows", For: kernel.Owners, Body: maxImportBytes, Audit: kernel.Unaudited, Operation: "importRows", Serve: h.importRows},
		{Method: http.MethodPost, Path: importPath + "/finish", For: kernel.Owners, Body: kernel.MaxBody, Audit: "deployment.import", Operation: "finishImport", Serve: h.finishImport},
	}
}

// To move a deployment, `postern export` writes the unchanged rows of all objects to a file, and `postern import`
// writes them to the objects of another deployment. See docs/operate/move.md.

const (
	exportPath = "/api/admin/export"
	importPath = "/api/admin/import"

	// exportAuditInterval is the time within which further exports by the same actor add no audit entry. One export
	// reads the Directory until two reads have the same content.
	exportAuditInterval = time.Hour
)

// movedObject identifies an object. These endpoints call it "directory", "ledger/<name>" or "meter/<SHA-256 of a key>".
// A Ledger's name is the ID of a project, a group or the deployment, with #requests or #tokens if it counts these.
type movedObject struct {
	class abi.Class
	name  string
}

// pageRows is the maximum number of rows per page for each class. The largest rows of meters are stored responses.
var pageRows = map[abi.Class]uint64{abi.ClassKeyMeter: 16, abi.ClassLedger: 200, abi.ClassDirectory: 100}

// movedRow is a row as it is stored. In JSON, its value is in standard base64.
type movedRow struct {
	Key   string `json:"key"`
	Value []byte `json:"value"`
}

type movedPage struct {
	Object string     `json:"object"`
	Rows   []movedRow `json:"rows"`
	Next   *string    `json:"next"` // pass as "after" to get the next page; null: last page
}

const badObject = "must be directory, ledger/ and the ID of a project or group, or meter/ and the SHA-256 of a key in lowercase hexadecimal digits"

func takeMovedObject(f *kernel.Fields) (o movedObject, text string) {
	text, given := f.Text("object", "")
	kind, name, _ := strings.Cut(text, "/")
	switch {
	case !given && len(f.Problems) == 0:
		f.Problem("object", "is required")
	case !given:
	case text == directory.Name:
		o = movedObject{abi.ClassDirectory, directory.Name}
	case kind == "ledger" && isMoved(ownerOf(name)):
		o = movedObject{abi.ClassLedger, name}
	case kind == "meter" && kernel.IsSHA256(name):
		o = movedObject{abi.ClassKeyMeter, name}
	default:
		f.Problem("object", badObject+kernel.Got(text))
	}
	return o, text
}

// ownerOf returns the ID of the project or group that a Ledger belongs to.
func ownerOf(ledger string) string {
	id, _ := doc.UnitOf(ledger)
	return id
}

// isMoved reports whether text has the form of an ID that rows and Ledgers in a file belong to.
func isMoved(text string) bool {
	return kernel.IsID(text, kernel.ProjectPrefix) || kernel.IsGroupID(text)
}

// exportObject serves POST /api/admin/export {"object","after"}. The endpoint is a POST, because the response
// contains key hashes and sealed provider keys. Viewers may send GET requests and would see them.
func (h *handler) exportObject(c *kernel.Call) (kernel.Answer, error) {
	f, err := c.Fields()
	if err != nil {
		return kernel.Answer{}, err
	}
	o, text := takeMovedObject(f)
	after, _ := f.Text("after", "")
	if !isRowKey(after) && after != "" {
		f.Problem("after", kernel.BadCursor+kernel.Got(after))
	}
	if err := f.Err(); err != nil {
		return kernel.Answer{}, err
	}
	if o.class == abi.ClassDirectory && after == "" {
		if err := h.auditExport(c); err != nil {
			return kernel.Answer{}, err
		}
	}
	command := move.Dump{After: after, Limit: pageRows[o.class]}
	reply, err := h.Store.Objects.Call(c, o.class, o.name, "", command.Encode())
	if err != nil {
		return kernel.Answer{}, kernel.Unavailable(err)
	}
	page, err := move.DecodePage(reply)
	if err != nil {
		return kernel.Answer{}, err
	}
	return viewMoved(o, text, &page)
}

// viewMoved returns a page without the rows that are not moved. It refuses an object that has pending deliveries,
// because both deployments would make them.
func viewMoved(o movedObject, text string, page *move.Page) (kernel.Answer, error) {
	view := movedPage{Object: text, Rows: []movedRow{}}
	for _, row := range page.Rows {
		if strings.HasPrefix(row.Key, abi.OutboxPrefix) || o.class == abi.ClassDirectory && directory.MovePending(row) {
			return kernel.Answer{}, kernel.Refuse(fault.Conflict, "object", text+" has pending deliveries; try again in a few seconds")
		}
		if o.class == abi.ClassLedger && ledger.MovesNot(row) {
			continue
		}
		if _, ok := movedDirectoryRow(row); ok || o.class != abi.ClassDirectory {
			view.Rows = append(view.Rows, movedRow{row.Key, row.Value})
		}
	}
	if page.More {
		view.Next = &page.Rows[len(page.Rows)-1].Key
	}
	return kernel.OK(view), nil
}

// auditExport writes an audit entry, unless one of the newest entries is about a recent export by the same actor.
func (h *handler) auditExport(c *kernel.Call) error {
	newest, err := h.Store.List(c, directory.List{Prefix: kernel.AuditPrefix, Limit: kernel.MaxListLimit})
	if err != nil {
		return err
	}
	for _, d := range newest {
		var e kernel.AuditEntry
		if json.Unmarshal(d.Value, &e) != nil || e.Action != c.Action || e.Actor != c.Actor.Name {
			continue
		}
		if at, err := time.Parse(time.RFC3339, e.Time); err == nil && h.Now().Sub(at) < exportAuditInterval {
			return nil
		}
	}
	return h.Store.Change(c, func() (kernel.Change, error) {
		entry, err := h.AuditWrite(c, "", "", nil, nil)
		return kernel.Change{Writes: []directory.Write{entry}}, err
	})
}

// movedDirectoryRow returns the project or group that a row of the Directory belongs to, or "" for the audit log and for
// top-ups of keys. ok is false if the row is not moved. Such rows are the deployment's own state, for example lockouts.
func movedDirectoryRow(row abi.Row) (owner string, ok bool) {
	d, isDocument, err := directory.MovedDocument(row)
	if !isDocument {
		return directory.MovedChain(row)
	}
	kind, rest, _ := strings.Cut(d.Key, "/")
	owner, _, _ = strings.Cut(rest, "/")
	switch kind + "/" {
	case kernel.AuditPrefix:
		return "", err == nil
	case "p/", "k/", "m/", kernel.ExportKey, kernel.CheckpointPrefix:
		return owner, err == nil && kernel.IsID(owner, kernel.ProjectPrefix)
	case doc.AllGroups:
		return owner, err == nil && kernel.IsGroupID(owner)
	case kernel.CreditsPrefix:
		if kernel.IsID(owner, kernel.KeyPrefix) {
			return "", err == nil
		}
		return owner, err == nil && isMoved(owner)
	}
	return "", false
}

// isRowKey reports whether text can be the key of a row.
func isRowKey(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return text > " " && len(text) <= maxRowKeyBytes
}

// Limits of a row on the platform.
const (
	maxRowKeyBytes   = 1024
	maxRowValueBytes = 2_000_000
	maxImportBytes   = 4 << 20 // maximum size of a request; enough for one row of the maximum size in base64
	maxRemoveCalls   = 10_000
)

func rowProblem(i int, message string) fault.Detail {
	return fault.Detail{Field: "rows[" + strconv.Itoa(i) + "]", Message: message}
}
