package inspect

func (in *inspector) restore(segments []segment, text []byte) {}
