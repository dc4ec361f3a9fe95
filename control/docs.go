package control

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
)

// docsPath is the path of the documentation site.
const docsPath = "/docs"

func isDocs(r *http.Request) bool {
	address := r.URL.EscapedPath()
	return address == docsPath || strings.HasPrefix(address, docsPath+"/")
}

// hashes are the sources in a content policy that allow the site's inline scripts and styles. They include the
// quotation marks, as in 'sha256-…'.
type hashes struct {
	Scripts []string `json:"scripts"`
	Styles  []string `json:"styles"`
}

// embedderHeader separates the windows of the documentation from those of the dashboard, which lacks the header. Two
// pages can use each other's windows only if both are isolated or neither is, and this header isolates a page. Without
// it, a script in a page of the documentation could open the dashboard and call the admin API from that window.
// Browsers ignore the header without TLS, except on localhost.
// Source: html.spec.whatwg.org/multipage/browsers.html#cross-origin-opener-policies
const embedderHeader = "Cross-Origin-Embedder-Policy"

// serveDocs serves the documentation, either as the built site or as the Markdown from which the site is built. The
// documentation is public.
func (s *Service) serveDocs(w http.ResponseWriter, r *http.Request) {
	id := kernel.RequestID(r, s.plane.Rand)
	for name, value := range pageHeaders {
		w.Header().Set(name, value)
	}
	w.Header().Set(embedderHeader, "require-corp")
	w.Header().Set(policyHeader, "default-src 'none'; frame-ancestors 'none'")
	if !isRead(r) {
		conclude(w, r, id, kernel.Answer{}, kernel.MethodNotAllowed(readMethods, r.Method, ""))
		return
	}
	w.Header().Set("X-Request-Id", id)
	address := strings.TrimPrefix(r.URL.EscapedPath(), docsPath)
	if target, ok := s.docsMoved(r.Context(), address); ok {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Location", docsPath+target)
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	name, file, err := s.docsFile(r.Context(), address)
	switch {
	case err == nil:
		s.writeDocs(w, r, name, file, http.StatusOK)
	case errors.Is(err, fs.ErrNotExist):
		s.missingDocs(w, r, id)
	default:
		conclude(w, r, id, kernel.Answer{}, kernel.Unavailable(err))
	}
}

// errorsAlias is a short address for errorsPage, which lists all errors.
const (
	errorsAlias = "/errors"
	errorsPage  = "/reference/errors/"
)

// docsMoved returns the address to redirect to, if any. The address of a page ends with a slash. Browsers keep the
// fragment.
func (s *Service) docsMoved(ctx context.Context, address string) (target string, moved bool) {
	switch {
	case address == "":
		return "/", true
	case strings.TrimSuffix(address, "/") == errorsAlias:
		return errorsPage, true
	case strings.HasSuffix(address, "/") || strings.Contains(path.Base(address), "."):
		return "", false
	}
	if _, _, err := s.docsFile(ctx, address+"/"); err != nil {
		return "", false
	}
	return address + "/", true
}

// docsFile finds a file. The address of a page is the address of its folder. Without a built site, the page is a
// Markdown file.
func (s *Service) docsFile(ctx context.Context, address string) (name string, file kernel.Asset, err error) {
	name = strings.TrimPrefix(address, "/")
	candidates := []string{name}
	if page, ok := strings.CutSuffix(address, "/"); ok {
		page = strings.TrimPrefix(page, "/")
		candidates = []string{path.Join(page, indexFile), page + ".md", path.Join(page, "README.md")}
	}
	for _, name := range candidates {
		if !isFileName(name) || strings.Contains(address, "//") {
			continue
		}
		if file, err = s.plane.Files(ctx, kernel.DocsFolder+name); !errors.Is(err, fs.ErrNotExist) {
			return name, file, err
		}
	}
	return "", kernel.Asset{}, fs.ErrNotExist
}

// missingDocs sends the site's 404 page or, if there is no documentation at all, a 503 that names the remedy.
func (s *Service) missingDocs(w http.ResponseWriter, r *http.Request, id string) {
	if file, err := s.plane.Files(r.Context(), kernel.DocsFolder+missingFile); err == nil {
		s.writeDocs(w, r, missingFile, file, http.StatusNotFound)
		return
	}
	if _, _, err := s.docsFile(r.Context(), "/"); !errors.Is(err, fs.ErrNotExist) {
		conclude(w, r, id, kernel.Answer{}, kernel.ErrNotFound)
		return
	}
	writeNotBuilt(w, r, "The documentation is not built. Run make build.\n")
}

// missingFile is the site's page for unknown paths.
const missingFile = "404.html"

// writeDocs sends a file of the documentation. Pages get the content policy of the site. So do scripts, because a
// worker uses the policy of its own file, and the search runs in a worker.
func (s *Service) writeDocs(w http.ResponseWriter, r *http.Request, name string, file kernel.Asset, status int) {
	if extension := path.Ext(name); extension == ".html" || extension == ".js" {
		policy, err := s.docsPolicy(r.Context())
		if err != nil {
			conclude(w, r, w.Header().Get("X-Request-Id"), kernel.Answer{}, kernel.Unavailable(err))
			return
		}
		w.Header().Set(policyHeader, policy)
	}
	writeFile(w, r, name, file, status)
}

// docsPolicy returns the content policy of the site. It is made only once, because the documentation never changes
// while this version runs.
func (s *Service) docsPolicy(ctx context.Context) (string, error) {
	if policy := s.policy.Load(); policy != nil {
		return *policy, nil
	}
	file, err := s.plane.Files(ctx, kernel.DocsHashesFile)
	if err != nil {
		return "", err
	}
	var found hashes
	if err := json.Unmarshal(file.Data, &found); err != nil {
		return "", err
	}
	policy := found.policy("'self'", "'self'") + ", " + found.policy(anyHost+docsPath+"/", anyHost+docsSearch)
	s.policy.Store(&policy)
	return policy, nil
}

const (
	// docsSearch is the folder of the search index.
	docsSearch = docsPath + "/pagefind/"
	// anyHost matches all hosts and ports. The scheme also matches https, and Firefox accepts a path only with a scheme
	// or a port. Source: w3.org/TR/CSP3/#match-url-to-source-expression
	anyHost = "http://*:*"
)

// policy allows only what the site consists of: files, its own inline scripts and styles, and the WebAssembly of its
// search. Documentation pages have the same origin as the dashboard, so docsPolicy keeps them from reaching the admin
// API with two policies, which apply together. The first permits all paths of this origin, and the second permits the
// documentation's paths on all hosts. One policy would have to name the host to permit a path, and behind a proxy the
// gateway might not know the host that the browser uses.
// Source: developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Content-Security-Policy
func (h *hashes) policy(files, search string) string {
	return "default-src 'none'; script-src " + files + " 'wasm-unsafe-eval'" + sources(h.Scripts) + "; style-src " + files + sources(h.Styles) +
		"; img-src " + files + " data:; font-src " + files + "; connect-src " + search + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

func sources(list []string) (text string) {
	for _, source := range list {
		text += " " + source
	}
	return text
}
