package doctor

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/postern-ai/postern/internal/smallfile"
)

// dataDirectory checks the permissions of the data directory, which does not exist before the first start.
func (d *doctor) dataDirectory() {
	const name = "data directory"
	info, err := os.Stat(d.config.Data)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok(name, "%s does not exist yet; the first start makes it", d.config.Data)
		return
	case err != nil:
		d.add(Fail, name, "check the permissions of the directories above it", "%s", err)
		return
	case !info.IsDir():
		d.add(Fail, name, "name a directory with POSTERN_DATA", "%s is not a directory", d.config.Data)
		return
	}
	if !isWritable(d.config.Data) {
		d.add(Fail, name, "run the command as the server's user; that user must own the directory", "%s is not writable", d.config.Data)
		return
	}
	if info.Mode().Perm()&0o077 != 0 {
		d.add(Warn, name, "chmod 700 "+d.config.Data, "%s is accessible to other users (mode %o)", d.config.Data, info.Mode().Perm())
	} else {
		d.ok(name, "%s is writable, and closed to other users", d.config.Data)
	}
	d.private("secrets", filepath.Join(d.config.Data, "secrets.json"))
}

// private checks that only the owner can read a file. A file that does not exist is fine.
func (d *doctor) private(name, file string) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		d.add(Fail, name, "check the permissions", "%s", err)
	case info.Mode().Perm()&0o077 != 0:
		d.add(Fail, name, "chmod 600 "+file, "%s is accessible to other users (mode %o)", file, info.Mode().Perm())
	default:
		d.ok(name, "%s is closed to other users", file)
	}
}

const expiresSoon = 21 * 24 * time.Hour

// tls checks the certificate, its key and its expiry.
func (d *doctor) tls() {
	const name = "TLS"
	c := d.config
	if c.TLSCert == "" {
		return
	}
	pair, err := smallfile.KeyPair(c.TLSCert, c.TLSKey)
	if err != nil {
		d.add(Fail, name, "the files must be PEM, and the key must belong to the certificate", "%s", err)
		return
	}
	left := pair.Leaf.NotAfter.Sub(d.Now())
	until := pair.Leaf.NotAfter.UTC().Format(time.DateOnly)
	switch {
	case d.Now().Before(pair.Leaf.NotBefore):
		d.add(Fail, name, "check the clock", "the certificate is valid only from %s", pair.Leaf.NotBefore.UTC().Format(time.RFC3339))
	case left <= 0:
		d.add(Fail, name, "renew it, and send the server SIGHUP", "the certificate expired on %s", until)
	case left < expiresSoon:
		d.add(Warn, name, "renew it, and send the server SIGHUP", "the certificate expires on %s", until)
	default:
		d.ok(name, "valid until %s for %s", until, strings.Join(pair.Leaf.DNSNames, ", "))
	}
	d.private("TLS key", c.TLSKey)
}

// port checks that an address is free. If a server is running, it does not have to be free.
func (d *doctor) port(name, listen string, running bool) {
	if listen == "off" || running {
		return
	}
	network, address := "tcp", listen
	if path, isSocket := strings.CutPrefix(listen, "unix:"); isSocket {
		if conn, err := net.Dial("unix", path); err == nil {
			_ = conn.Close()
			d.add(Fail, name, "stop the other program or choose another path", "%s is in use", listen)
		} else {
			d.ok(name, "%s is free", listen)
		}
		return
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		}
		d.add(Fail, name, "stop the other program or choose another address", "cannot listen on %s: %s", listen, err)
		return
	}
	_ = listener.Close()
	d.ok(name, "%s is free", listen)
}

const (
	littleSpace = 1 << 30
	noSpace     = 64 << 20
)

// disk checks the free space where the data is.
func (d *doctor) disk() {
	dir := d.config.Data
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	free, ok := freeBytes(dir)
	if !ok {
		return
	}
	status, remedy := OK, ""
	if free < noSpace {
		status, remedy = Fail, "free some space: without it every change is refused with 503"
	} else if free < littleSpace {
		status, remedy = Warn, "free some space before it runs out"
	}
	d.add(status, "disk space", remedy, "%d MB free", free>>20)
}

// files checks the limit of open files. Each request needs two connections, one to the caller and one to a provider.
// The server itself needs some files, too.
func (d *doctor) files() {
	limit, ok := openFiles()
	if !ok {
		return
	}
	const own = 200
	if needed := uint64(2*d.config.MaxConnections + own); limit < needed {
		d.add(Warn, "open files", "raise the limit (LimitNOFILE in systemd, ulimit -n in a shell) or lower POSTERN_MAX_CONNECTIONS",
			"the limit is %d; %d connections may need %d", limit, d.config.MaxConnections, needed)
		return
	}
	d.ok("open files", "the limit is %d", limit)
}
