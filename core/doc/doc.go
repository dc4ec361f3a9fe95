// Package doc holds the documents that the control plane writes and the data plane reads. Each starts with
// the version of its format.
package doc

import "github.com/postern-ai/postern/core/abi"

// Formats. Older ones are still read: what they do not have is zero.
const (
	projectFormat = 3 // 1 had no policy, cycle, status and alerts, 2 no Unbounded
	keyFormat     = 3 // 1 had no models, 2 no limits, expiry and permissions
	policyFormat  = 1
)

// Bounds of an allow-list: an exchange carries it from step to step.
const (
	MaxModels     = 32
	MaxModelBytes = 64 // of one name
)

// ProjectKey is where the Directory keeps a project.
func ProjectKey(projectID string) string { return "p/" + projectID }

// KeyKey is where the Directory keeps a key. KeysOf is the prefix of all of a project's.
func KeyKey(projectID, keyID string) string { return KeysOf(projectID) + keyID }

// KeysOf is the prefix of a project's keys.
func KeysOf(projectID string) string { return "k/" + projectID + "/" }

// RecordKey is where KV and host memory have a key's Record.
func RecordKey(hash string) string { return "key/" + hash }

// PolicyKey is where KV and host memory have a project's Policy of one version. What stands there never
// changes.
func PolicyKey(projectID string, version uint64) string {
	return "policy/" + projectID + "/" + abi.Fixed(version)
}

func encodeTexts(w *abi.Writer, texts []string) {
	w.Uint(uint64(len(texts)))
	for _, t := range texts {
		w.String(t)
	}
}

func decodeTexts(r *abi.Reader) (texts []string) {
	for n := r.Count(); n > 0; n-- {
		texts = append(texts, r.String())
	}
	return texts
}
