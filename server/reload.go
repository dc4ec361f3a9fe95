package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// Reload replaces the configuration without dropping a connection. It replaces variables, catalog, tokens, master
// keys, engine, exports, TLS certificate, trusted proxies and log, but not Out, Ops, Observer and Test. Requests in
// progress finish under the old configuration. If the new configuration is invalid or changes a setting that requires
// a restart, Reload returns an error, and the old one stays in force.
func (s *Server) Reload(ctx context.Context, c Config) error {
	s.reloading.Lock()
	defer s.reloading.Unlock()
	c.Out, c.Ops, c.Observer, c.Test = s.config.Out, s.config.Ops, s.config.Observer, s.config.Test
	c.setDefaults()
	if fixed := s.config.fixedChanges(&c); len(fixed) > 0 {
		return fmt.Errorf("a reload cannot change %s; restart the server", strings.Join(fixed, ", "))
	}
	if err := errors.Join(requireSecrets(&c), s.addSecrets(ctx, &c)); err != nil {
		return err
	}
	certificate, err := loadCertificate(&c)
	if err != nil {
		return err
	}
	d, err := s.build(c)
	if err != nil {
		return err
	}
	s.certificate.Store(certificate)
	s.logger.Store(c.Log)
	s.retire(s.install(d))
	return nil
}

// retire waits in the background until a deployment's exchanges have ended. Then it frees the deployment.
func (s *Server) retire(d *deployment) {
	s.retired.Go(func() {
		d.wait()
		d.close()
	})
}

// fixedChanges returns the changed variables for which a reload is not enough: they require a restart.
func (c *Config) fixedChanges(other *Config) (names []string) {
	for _, v := range []struct {
		name     string
		old, new any
	}{
		{"POSTERN_LISTEN", c.Listen, other.Listen},
		{"POSTERN_OPS_LISTEN", c.OpsListen, other.OpsListen},
		{"POSTERN_DATA", c.Data, other.Data},
		{"POSTERN_DATABASE", c.Database, other.Database},
		{"POSTERN_DURABILITY", c.Durability, other.Durability},
		{"POSTERN_MAX_CONNECTIONS", c.MaxConnections, other.MaxConnections},
		{"POSTERN_SHUTDOWN_TIMEOUT", c.Drain, other.Drain},
		{"POSTERN_DRAIN_DELAY", c.DrainDelay, other.DrainDelay},
		{"POSTERN_TLS_CERT (from TLS to no TLS or back)", c.TLSCert == "", other.TLSCert == ""},
	} {
		if v.old != v.new {
			names = append(names, v.name)
		}
	}
	return names
}
