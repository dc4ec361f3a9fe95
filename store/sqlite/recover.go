package sqlite

// recover opens the connections again after a failure that they may not have survived.
func (d *database) recover() error {
	if !d.reopen && d.writer != nil {
		return nil
	}
	d.conns.Lock()
	defer d.conns.Unlock()
	d.closeReaders()
	if d.writer != nil {
		closeConn(d.writer.conn)
		d.writer = nil
	}
	if err := d.openWriter(); err != nil {
		return err
	}
	d.reopen = false
	return nil
}
