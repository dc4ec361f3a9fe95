package control

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/postern-ai/postern/control/kernel"
)

const (
	dashboardPath = "/dashboard"
	indexFile     = "index.html"
)

// mediaTypes maps the file extensions of the dashboard and the documentation to media types. Files with any other
// extension are sent as application/octet-stream.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8", ".html": "text/html; charset=utf-8", ".ico": "image/x-icon",
	".js": "text/javascript; charset=utf-8", ".json": "application/json", ".map": "application/json", ".md": "text/plain; charset=utf-8",
	".png": "image/png", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8", ".webmanifest": "application/manifest+json",
	".woff2": "font/woff2", ".xml": "application/xml",
	".yaml": "application/yaml", // RFC 9512, which defines no charset
}

// hashLength is the length of the hash in the name of a file that esbuild generated.
const hashLength = 8

// builtFolder contains those files of the documentation that have a content hash in their names. Source:
// docs.astro.build/en/reference/configuration-reference/#buildassets
const builtFolder = "_astro/"

// hasHash reports whether a file's name has the form that esbuild generates: a stem, a content hash and an extension.
// The content of such a file never changes. Source: esbuild.github.io/api/#entry-names
func hasHash(file string) bool {
	stem, extension, _ := strings.Cut(file, ".")
	dash := len(stem) - hashLength - 1
	return dash > 0 && stem[dash] == '-' && kernel.ConsistsOf(stem[:dash], kernel.Lowercase+kernel.Digits+"-") &&
		kernel.ConsistsOf(stem[dash+1:], kernel.Uppercase+kernel.Digits) && kernel.ConsistsOf(extension, kernel.Lowercase+kernel.Digits)
}

const policyHeader = "Content-Security-Policy"

// pageHeaders are set on every response of the dashboard. The page loads nothing from other origins, cannot
// be framed and sends no Referer.
var pageHeaders = map[string]string{
	policyHeader: "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
	"Cross-Origin-Opener-Policy": "same-origin",
	"Permissions-Policy":         "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
	"Referrer-Policy":            "no-referrer",
	"X-Content-Type-Options":     "nosniff",
	"X-Frame-Options":            "DENY",
}

// readMethods are the methods allowed for files.
var readMethods = []string{http.MethodGet, http.MethodHead}

func isRead(r *http.Request) bool { return slices.Contains(readMethods, r.Method) }

func isDashboard(r *http.Request) bool {
	address := r.URL.EscapedPath()
	return address == dashboardPath || strings.HasPrefix(address, dashboardPath+"/")
}

// serveDashboard serves the dashboard's files. The files are public, because all data comes from the admin API, which
// authenticates every request.
func (s *Service) serveDashboard(w http.ResponseWriter, r *http.Request) {
	for name, value := range pageHeaders {
		w.Header().Set(name, value)
	}
	id := kernel.RequestID(r, s.plane.Rand)
	if !isRead(r) {
		conclude(w, r, id, kernel.Answer{}, kernel.MethodNotAllowed(readMethods, r.Method, ""))
		return
	}
	w.Header().Set("X-Request-Id", id)
	name, file, err := s.dashboardFile(r.Context(), strings.TrimPrefix(r.URL.EscapedPath(), dashboardPath))
	switch {
	case err == nil:
		writeFile(w, r, name, file, http.StatusOK)
	case !errors.Is(err, fs.ErrNotExist):
		conclude(w, r, id, kernel.Answer{}, kernel.Unavailable(err))
	default:
		s.missingFile(w, r, id)
	}
}

// missingFile sends a 404 or, if there is no dashboard at all, a 503 that names the remedy.
func (s *Service) missingFile(w http.ResponseWriter, r *http.Request, id string) {
	if _, _, err := s.dashboardFile(r.Context(), ""); !errors.Is(err, fs.ErrNotExist) {
		conclude(w, r, id, kernel.Answer{}, kernel.ErrNotFound)
		return
	}
	writeNotBuilt(w, r, "The dashboard is not built. Run make build.\n")
}

// writeNotBuilt sends a 503 that names the remedy.
func writeNotBuilt(w http.ResponseWriter, r *http.Request, remedy string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Type", mediaTypes[".txt"])
	w.WriteHeader(http.StatusServiceUnavailable)
	if r.Method != http.MethodHead {
		_, _ = w.Write([]byte(remedy))
	}
}

// dashboardFile resolves a path below /dashboard to a file or to the page, which selects its view based on the path.
// A name with a dot is always a file, so the response for a missing file is a 404 instead of the page.
func (s *Service) dashboardFile(ctx context.Context, address string) (name string, file kernel.Asset, err error) {
	name = strings.TrimPrefix(address, "/")
	if base := path.Base(name); !strings.Contains(base, ".") || name == "" {
		name = indexFile
	}
	if !isFileName(name) {
		return "", kernel.Asset{}, fs.ErrNotExist
	}
	file, err = s.plane.Files(ctx, kernel.DashboardFolder+name)
	return name, file, err
}

// isFileName accepts file names that need no escaping in a URL. It rejects hidden files.
func isFileName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !kernel.IsLetterOrDigit(c) && c != '-' && c != '_' && c != '.' && c != '/' {
			return false
		}
	}
	return fs.ValidPath(name) && !strings.HasPrefix(path.Base(name), ".")
}

// writeFile sends a file. Browsers cache a file with a hashed name forever and revalidate all others.
func writeFile(w http.ResponseWriter, r *http.Request, name string, file kernel.Asset, status int) {
	header := w.Header()
	mediaType, ok := mediaTypes[path.Ext(name)]
	if !ok {
		mediaType = "application/octet-stream"
	}
	header.Set("Content-Type", mediaType)
	header.Set("Cache-Control", "no-cache")
	if hasHash(path.Base(name)) || strings.HasPrefix(name, builtFolder) {
		header.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	header.Set("ETag", file.Tag)
	if status == http.StatusOK && matches(kernel.HeaderValue(r.Header, "If-None-Match"), file.Tag) {
		header.Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(file.Data)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(file.Data) // an error means that the client disconnected
	}
}

// matches reports whether an If-None-Match list contains a tag. A * matches every file that exists. Weak tags match, too,
// because an edge that compresses responses weakens their tags. Source: RFC 9110, section 13.1.2
func matches(list, tag string) bool {
	if strings.TrimSpace(list) == "*" {
		return true
	}
	for entry := range strings.SplitSeq(list, ",") {
		if strings.TrimPrefix(strings.TrimSpace(entry), "W/") == tag {
			return true
		}
	}
	return false
}
