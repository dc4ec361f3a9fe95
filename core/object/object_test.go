package object_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/postern-ai/postern/core/abi"
	"github.com/postern-ai/postern/core/object"
)

// log is a reducer that records its inputs and returns fixed outputs.
type log struct {
	reads  []abi.Range
	rounds []abi.ObjectOutput
	seen   [][]string // the keys of the input's rows for each round
}

func (l *log) reducer() object.Reducer {
	return object.Reducer{
		Reads: func(*abi.ObjectInput) ([]abi.Range, error) { return l.reads, nil },
		Apply: func(in *abi.ObjectInput) (abi.ObjectOutput, error) {
			var keys []string
			for _, row := range in.Rows {
				keys = append(keys, row.Key)
			}
			l.seen = append(l.seen, keys)
			return l.rounds[in.Round], nil
		},
	}
}

// encoded wraps a reducer with the codec.
func encoded(r object.Reducer) object.Reducer {
	encode := func(out abi.ObjectOutput, err error) ([]byte, error) {
		var w abi.Writer
		out.Encode(&w)
		return w.Buf, err
	}
	return object.FromEncoded(func(message []byte) ([]byte, error) {
		in, err := abi.DecodeObjectInput(message)
		if err != nil {
			return nil, err
		}
		ranges, err := r.Reads(&in)
		return encode(abi.ObjectOutput{Ranges: ranges}, err)
	}, func(message []byte) ([]byte, error) {
		in, err := abi.DecodeObjectInput(message)
		if err != nil {
			return nil, err
		}
		return encode(r.Apply(&in))
	})
}

func TestRun(t *testing.T) {
	for _, coded := range []bool{false, true} {
		m := &object.Memory{Rows: map[string][]byte{"a": {1}, "b": {2}, "c": {3}, "d": {4}}, AlarmMs: 50}
		l := &log{
			reads: []abi.Range{{Start: "d"}, {Start: "x"}, {Start: "a", End: "d", Limit: 2}},
			rounds: []abi.ObjectOutput{
				{Ranges: []abi.Range{{Start: "c", End: "z", Limit: 9}}},
				{Puts: []abi.Row{{Key: "bb", Value: []byte{9}}}, Deletes: []string{"a", "nothing"}, AlarmMs: 40, Reply: []byte("reply")},
			},
		}
		r := l.reducer()
		if coded {
			r = encoded(r)
		}
		out, err := r.Run(m, abi.ObjectInput{Command: []byte{1}})
		if err != nil || string(out.Reply) != "reply" {
			t.Fatalf("%v %q", err, out.Reply)
		}
		if len(l.seen) != 2 || !slices.Equal(l.seen[0], []string{"d", "a", "b"}) || !slices.Equal(l.seen[1], []string{"d", "a", "b", "c", "d"}) {
			t.Errorf("rows %q", l.seen)
		}
		if keys := m.Keys("", "~"); !slices.Equal(keys, []string{"b", "bb", "c", "d"}) || m.Rows["bb"][0] != 9 || m.AlarmMs != 40 {
			t.Errorf("%q, alarm %d", keys, m.AlarmMs)
		}
	}
}

var errTest = errors.New("no")

// failing is storage whose calls fail with the given errors.
type failing struct {
	object.Memory
	read, commit error
}

func (f *failing) Read(g abi.Range) ([]abi.Row, error) {
	if f.read != nil {
		return nil, f.read
	}
	return f.Memory.Read(g)
}

func (f *failing) Commit(puts []abi.Row, deletes []string, alarmMs uint64) error {
	if f.commit != nil {
		return f.commit
	}
	return f.Memory.Commit(puts, deletes, alarmMs)
}

// TestRunFails checks that nothing has changed after an error.
func TestRunFails(t *testing.T) {
	put := abi.ObjectOutput{Puts: []abi.Row{{Key: "a"}}, AlarmMs: 5}
	more := abi.ObjectOutput{Ranges: []abi.Range{{Start: "a"}}, Puts: put.Puts}
	for name, c := range map[string]struct {
		log  log
		rows failing
		want error
	}{
		"read":        {log{reads: more.Ranges, rounds: []abi.ObjectOutput{put}}, failing{read: errTest}, errTest},
		"commit":      {log{rounds: []abi.ObjectOutput{put}}, failing{commit: errTest}, errTest},
		"third round": {log{rounds: []abi.ObjectOutput{more, more}}, failing{}, object.ErrThirdRound},
	} {
		if _, err := c.log.reducer().Run(&c.rows, abi.ObjectInput{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(c.rows.Rows) != 0 || c.rows.AlarmMs != 0 {
			t.Errorf("%s: %v, alarm %d", name, c.rows.Rows, c.rows.AlarmMs)
		}
	}
}

// TestMemoryCopies checks that a committed value does not share memory with the message that contained it.
func TestMemoryCopies(t *testing.T) {
	m, message := object.Memory{}, []byte{1}
	if err := m.Commit([]abi.Row{{Key: "a", Value: message}}, nil, 7); err != nil {
		t.Fatal(err)
	}
	message[0] = 2
	if err := m.Commit(nil, nil, 9); err != nil || m.Rows["a"][0] != 1 || m.AlarmMs != 7 {
		t.Errorf("%v, %v, alarm %d", err, m.Rows, m.AlarmMs)
	}
}

func TestNextDelivery(t *testing.T) {
	m := object.Memory{Rows: map[string][]byte{"h": {1}}}
	if key, _, err := object.NextDelivery(&m); key != "" || err != nil {
		t.Errorf("%q %v", key, err)
	}
	for _, seq := range []uint64{12, 3} {
		d := abi.Delivery{Class: abi.ClassLedger, Name: "p", Data: []byte{byte(seq)}}
		m.Rows[abi.OutboxKey(seq)] = d.Encode()
	}
	if key, d, err := object.NextDelivery(&m); key != abi.OutboxKey(3) || d.Data[0] != 3 || err != nil {
		t.Errorf("%q %+v %v", key, d, err)
	}
}
