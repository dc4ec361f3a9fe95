// Package doc defines the documents that the control plane writes and the data plane reads. Each starts with
// the version of its format.
package doc

import "github.com/postern-ai/postern/core/abi"

// The formats. Older ones can still be read, and the fields that they lack are zero.
const (
	projectFormat = 7 // 1 lacked policy, cycle, status and alerts; 2 lacked Unbounded; 3 lacked Cache; 4 lacked Contact; 5 lacks RecordProviderErrors; 6 lacks Chain
	keyFormat     = 4 // 1 lacked models; 2 lacked limits, expiry and permissions; 3, still written without a budget, lacks it
	policyFormat  = 2 // 1 lacked the Governor and the registry
)

// The limits of a list of allowed models. They are small because the list is part of an exchange's state.
const (
	MaxModels     = 32
	MaxModelBytes = 64 // per name
)

// MaxContactBytes limits the length of a project's contact, which is part of every record.
const MaxContactBytes = 100

// ProjectKey returns the Directory's key of a project's document.
func ProjectKey(projectID string) string { return "p/" + projectID }

// KeyKey returns the Directory's key of a key's document.
func KeyKey(projectID, keyID string) string { return KeysOf(projectID) + keyID }

// AllKeys is the prefix of KeyKey for the keys of all projects. It is followed by the project's ID, a slash and the
// key's ID.
const AllKeys = "k/"

// KeysOf returns the prefix of KeyKey for all keys of a project.
func KeysOf(projectID string) string { return AllKeys + projectID + "/" }

// RegistryKey returns the Directory's key of an entry in a project's model registry.
func RegistryKey(projectID, entryID string) string { return RegistryOf(projectID) + entryID }

// RegistryOf returns the prefix of RegistryKey for all of a project's entries.
func RegistryOf(projectID string) string { return "m/" + projectID + "/" }

// RecordKey returns the key of a Record in KV and host memory.
func RecordKey(hash string) string { return "key/" + hash }

// PolicyKey returns the key of one version of a project's Policy in KV and host memory. The value under this key
// never changes.
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
