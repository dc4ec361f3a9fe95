package abi

// Size estimates the length of the encoding so that its buffer is allocated only once.
func (out *StepOutput) Size() int {
	n := 80 + len(out.Shared) + len(out.Pinned) + len(out.State)
	for i := range out.Actions {
		a := &out.Actions[i]
		n += 128 + len(a.Data) + len(a.Key) + len(a.URL)
		for _, p := range a.Body {
			n += 10 + len(p.Data)
		}
		for _, h := range a.Headers {
			n += 8 + len(h.Name) + len(h.Value)
		}
	}
	return n
}
