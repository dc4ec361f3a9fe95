package compliance

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/postern-ai/postern/compliance"
	"github.com/postern-ai/postern/control/kernel"
	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/chain"
	"github.com/postern-ai/postern/core/directory"
	"github.com/postern-ai/postern/core/ledger"
)

// Checkpoint documents:
//
//	cp/<project>/<time left><object><reason>    a checkpoint, the newest first
//	cm/<project>                                the newest ones of each chain
const (
	newestPrefix       = "cm/"
	checkpointIDPrefix = "chk_"
)

func checkpointsOf(projectID string) string { return kernel.CheckpointPrefix + projectID + "/" }

func checkpointKey(c *compliance.Checkpoint, nowMs uint64) string {
	return checkpointsOf(c.Project) + abi.Fixed(kernel.EndOfTimeMs-nowMs) + c.Object + c.Reason
}

// newest holds a project's newest checkpoints, keyed by object.
type newest struct {
	Daily map[string]compliance.Checkpoint `json:"daily"`
	Prune map[string]compliance.Checkpoint `json:"prune"`
}

// newestCheckpoints reads a project's newest checkpoints. The write that it returns is based on the document's
// current version.
func newestCheckpoints(ctx context.Context, s kernel.Store, projectID string) (found newest, write directory.Write, err error) {
	found = newest{map[string]compliance.Checkpoint{}, map[string]compliance.Checkpoint{}}
	write, err = s.ReadForWrite(ctx, newestPrefix+projectID)
	if err == nil && write.Version > 0 {
		err = json.Unmarshal(write.Value, &found)
	}
	return found, write, err
}

// of returns the newest checkpoint of a chain, or nil if there is none. The reason for the checkpoint does not
// matter.
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

type checkpointsView struct {
	Checkpoints []compliance.Checkpoint `json:"checkpoints"`
	PublicKeys  []publicKeyView         `json:"publicKeys"`
	Next        *string                 `json:"next"` // pass as "after" to get the next page; null: last page
}

type publicKeyView struct {
	KeyID     string `json:"keyId"`
	PublicKey string `json:"publicKey"` // Ed25519, 32 bytes in base64
}

// viewPublicKeys returns the public halves of the configured keys. The first key is the one that signs.
func viewPublicKeys(cp *kernel.Plane) []publicKeyView {
	views := []publicKeyView{}
	for _, k := range publicKeys(signingKeys(cp)) {
		views = append(views, publicKeyView{k.ID(), k.String()})
	}
	return views
}

// listCheckpoints serves GET …/compliance/checkpoints?object=&limit=&after=, which lists checkpoints, newest first.
func (h *handler) listCheckpoints(c *kernel.Call) (kernel.Answer, error) {
	q, err := kernel.ReadQuery(c.Request, checkpointIDPrefix, "object")
	if err != nil {
		return kernel.Answer{}, err
	}
	object := q.Choice("object", chainObjects)
	if err := q.Err(); err != nil {
		return kernel.Answer{}, err
	}
	if _, err := h.Store.Project(c, c.Project); err != nil {
		return kernel.Answer{}, err
	}
	prefix := checkpointsOf(c.Project)
	q.After = strings.TrimPrefix(q.After, checkpointIDPrefix)
	found, more, err := kernel.Scan(c, h.Store, q, prefix, decodeCheckpoint, func(c *compliance.Checkpoint) bool {
		return object == "" || c.Object == object
	})
	if err != nil {
		return kernel.Answer{}, err
	}
	view := checkpointsView{Checkpoints: append([]compliance.Checkpoint{}, found...), PublicKeys: viewPublicKeys(h.Plane)}
	if next := kernel.NextID(more, prefix); next != nil {
		text := checkpointIDPrefix + *next
		view.Next = &text
	}
	return kernel.OK(view), nil
}

func decodeCheckpoint(d directory.Document) (c compliance.Checkpoint, err error) {
	err = json.Unmarshal(d.Value, &c)
	return c, err
}

func sign(cp *kernel.Plane, key compliance.SigningKey, p *directory.Project, object, reason string, seq uint64, hash string) compliance.Checkpoint {
	c := compliance.Checkpoint{Project: p.ID, Object: object, Seq: seq, Hash: hash, Time: kernel.Timestamp(cp.NowMs()), Reason: reason}
	key.Sign(&c)
	return c
}

// publish copies a checkpoint to places outside the objects: the log, the bucket and the project's webhook. The
// bucket and the webhook are optional. It may be called again for the same checkpoint.
func publish(ctx context.Context, cp *kernel.Plane, p *directory.Project, c *compliance.Checkpoint) error {
	text, err := kernel.Encode(c)
	if err != nil {
		return err
	}
	kernel.LogCheckpoint(c)
	name := strings.Join([]string{p.ID, c.Object, abi.Fixed(c.Seq), c.Reason}, ".")
	if cp.Exports != nil {
		err = cp.Exports(ctx, "checkpoints/"+c.Time[:len("2006-01-02")]+"/"+name+".json", append(text, '\n'))
	}
	if p.Alerts.URL == "" {
		return err
	}
	message := ledger.Announce{ID: "evt_" + strings.ReplaceAll(name, ".", "_"), Type: "compliance.checkpoint", Data: text}
	_, sent := cp.Store.Objects.Call(ctx, abi.ClassLedger, p.ID, p.Region, message.Encode())
	return errors.Join(err, sent)
}

// headInterval is the minimum time between two checkpoints that exports make of the same chain.
const headInterval = time.Minute

// If no checkpoint covers a chain's newest entry yet, checkpointHead signs, publishes and stores one. The export can
// then be verified at once. The checkpoint only adds evidence, so a failure is logged and the export continues.
// Concurrent requests may each make a checkpoint.
func checkpointHead(ctx context.Context, cp *kernel.Plane, p *directory.Project, object string, head *chain.Entry) {
	keys := signingKeys(cp)
	if len(keys) == 0 || head.Seq == 0 {
		return
	}
	known, _, err := newestCheckpoints(ctx, cp.Store, p.ID)
	if err == nil {
		last := known.of(object)
		recent := kernel.Timestamp(uint64(cp.Now().Add(-headInterval).UnixMilli()))
		if last != nil && (last.Seq >= head.Seq || last.Reason == compliance.Export && last.Time > recent) {
			return
		}
		c := sign(cp, keys[0], p, object, compliance.Export, head.Seq, head.Hash.String())
		err = keep(ctx, cp, p, &c)
	}
	if err != nil && !errors.Is(err, kernel.ErrConflict) {
		kernel.LogFailure("", "checkpoint_failed", err.Error())
	}
}
