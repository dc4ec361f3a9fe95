package control

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// Documents of checkpoints:
//
//	cp/<project>/<time left><object><reason>    a checkpoint, the newest first
//	cm/<project>                                the newest ones of each chain
const (
	checkpointPrefix   = "cp/"
	newestPrefix       = "cm/"
	checkpointIDPrefix = "chk_"
)

func checkpointsOf(projectID string) string { return checkpointPrefix + projectID + "/" }

func checkpointKey(c *compliance.Checkpoint, nowMs uint64) string {
	return checkpointsOf(c.Project) + abi.Fixed(endOfTimeMs-nowMs) + c.Object + c.Reason
}

// newest are the newest checkpoints of a project, by object.
type newest struct {
	Daily map[string]compliance.Checkpoint `json:"daily"`
	Prune map[string]compliance.Checkpoint `json:"prune"`
}

// newestCheckpoints reads them, and returns a write based on the document's current version.
func (s store) newestCheckpoints(ctx context.Context, projectID string) (found newest, write directory.Write, err error) {
	found = newest{map[string]compliance.Checkpoint{}, map[string]compliance.Checkpoint{}}
	write, err = s.readForWrite(ctx, newestPrefix+projectID)
	if err == nil && write.Version > 0 {
		err = json.Unmarshal(write.Value, &found)
	}
	return found, write, err
}

// of returns the newest checkpoint of a chain for any reason, or nil.
func (n *newest) of(object string) *compliance.Checkpoint {
	c, ok := n.Daily[object]
	if p, pruned := n.Prune[object]; pruned && (!ok || p.Seq > c.Seq) {
		c, ok = p, true
	}
	if !ok {
		return nil
	}
	return &c
}

func (n *newest) add(c *compliance.Checkpoint) {
	if c.Reason == compliance.Prune {
		n.Prune[c.Object] = *c
		return
	}
	n.Daily[c.Object] = *c
}

// checkpointsView is a page of checkpoints in the API.
type checkpointsView struct {
	Checkpoints []compliance.Checkpoint `json:"checkpoints"`
	PublicKeys  []publicKeyView         `json:"publicKeys"`
	Next        *string                 `json:"next"` // cursor for after; null: last page
}

type publicKeyView struct {
	KeyID     string `json:"keyId"`
	PublicKey string `json:"publicKey"` // Ed25519, 32 bytes in base64
}

// viewPublicKeys are the public halves of the configured keys; the first one is in use.
func (h *handler) viewPublicKeys() []publicKeyView {
	views := []publicKeyView{}
	for _, k := range publicKeys(h.signingKeys()) {
		views = append(views, publicKeyView{k.ID(), k.String()})
	}
	return views
}

// listCheckpoints is GET …/compliance/checkpoints?object=&limit=&after=, newest first.
func (h *handler) listCheckpoints(c *call) (answer, error) {
	q, err := readQuery(c.request, checkpointIDPrefix, "object")
	if err != nil {
		return answer{}, err
	}
	object := q.choice("object", chainObjects)
	if err := q.err(); err != nil {
		return answer{}, err
	}
	if _, err := h.store.project(c, c.project); err != nil {
		return answer{}, err
	}
	prefix := checkpointsOf(c.project)
	q.after = strings.TrimPrefix(q.after, checkpointIDPrefix)
	found, more, err := scan(c, h.store, q, prefix, decodeCheckpoint, func(c *compliance.Checkpoint) bool {
		return object == "" || c.Object == object
	})
	if err != nil {
		return answer{}, err
	}
	view := checkpointsView{Checkpoints: append([]compliance.Checkpoint{}, found...), PublicKeys: h.viewPublicKeys()}
	if next := nextID(more, prefix); next != nil {
		text := checkpointIDPrefix + *next
		view.Next = &text
	}
	return answer{http.StatusOK, view}, nil
}

func decodeCheckpoint(d directory.Document) (c compliance.Checkpoint, err error) {
	err = json.Unmarshal(d.Value, &c)
	return c, err
}

// sign makes a checkpoint of an entry.
func (h *handler) sign(key compliance.SigningKey, p *project, object, reason string, seq uint64, hash string) compliance.Checkpoint {
	c := compliance.Checkpoint{Project: p.ID, Object: object, Seq: seq, Hash: hash, Time: timestamp(h.nowMs()), Reason: reason}
	key.Sign(&c)
	return c
}

// publish puts a checkpoint outside of the objects: into the log, the bucket and the project's webhook, as far as they
// are configured. It may be repeated.
func (h *handler) publish(ctx context.Context, p *project, c *compliance.Checkpoint) error {
	text, err := encode(c)
	if err != nil {
		return err
	}
	logCheckpoint(c)
	name := strings.Join([]string{p.ID, c.Object, abi.Fixed(c.Seq), c.Reason}, ".")
	if h.Exports != nil {
		err = h.Exports(ctx, "checkpoints/"+c.Time[:len("2006-01-02")]+"/"+name+".json", append(text, '\n'))
	}
	if p.Alerts.URL == "" {
		return err
	}
	message := ledger.Announce{ID: "evt_" + strings.ReplaceAll(name, ".", "_"), Type: "compliance.checkpoint", Data: text}
	_, sent := h.store.objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, message.Encode())
	return errors.Join(err, sent)
}

// headInterval is the minimum time between two checkpoints of a chain that exports ask for.
const headInterval = time.Minute

// checkpointHead signs, publishes and stores a checkpoint of a chain's newest entry, if no checkpoint covers it, so that
// an export can be verified at once. It adds nothing but evidence, so a failure is logged and the export continues.
// Requests at the same time may make one each.
func (h *handler) checkpointHead(ctx context.Context, p *project, object string, head *chain.Entry) {
	keys := h.signingKeys()
	if len(keys) == 0 || head.Seq == 0 {
		return
	}
	known, _, err := h.store.newestCheckpoints(ctx, p.ID)
	if err == nil {
		last := known.of(object)
		recent := timestamp(uint64(h.Now().Add(-headInterval).UnixMilli()))
		if last != nil && (last.Seq >= head.Seq || last.Reason == compliance.Export && last.Time > recent) {
			return
		}
		c := h.sign(keys[0], p, object, compliance.Export, head.Seq, head.Hash.String())
		err = h.keep(ctx, p, &c)
	}
	if err != nil && !errors.Is(err, errConflict) {
		LogFailure("", "checkpoint_failed", err.Error())
	}
}
