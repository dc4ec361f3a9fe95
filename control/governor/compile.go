package governor

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/postern-ai/postern/core/governor"
)

// maxPatternSource is the maximum length of an operator's regular expression in bytes.
const maxPatternSource = 512

type compiledPattern struct {
	Program   []byte
	MaxLength uint64 // maximum length of a match in bytes; at most governor.MaxMatch
}

// compilePattern compiles a regular expression in Go's syntax. An error gives the reason but does not name the field,
// which the caller knows.
//
// The core finds the leftmost-longest match, so the lazy operators ??, *? and +? are equivalent to ?, * and +. A
// match has at most governor.MaxMatch bytes. If an attempt has not matched within that length, it is abandoned. The
// search then continues after the start of the attempt.
func compilePattern(source string) (compiledPattern, error) {
	if len(source) > maxPatternSource {
		return compiledPattern{}, fmt.Errorf("must have at most %d bytes, got %d", maxPatternSource, len(source))
	}
	tree, err := syntax.Parse(source, syntax.Perl)
	if err != nil {
		return compiledPattern{}, patternError(err)
	}
	least, most := matchLength(tree)
	if least == 0 {
		return compiledPattern{}, errors.New("must not match the empty text, as a* and ^ do; require at least one character")
	}
	if least > governor.MaxMatch {
		return compiledPattern{}, fmt.Errorf("matches texts of at least %d bytes; a match can have at most %d", least, governor.MaxMatch)
	}
	compiled, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return compiledPattern{}, patternError(err)
	}
	if n := len(compiled.Inst); n > governor.MaxInstructions {
		return compiledPattern{}, fmt.Errorf("needs %d instructions, more than %d; use smaller counts or fewer alternatives", n, governor.MaxInstructions)
	}
	return compiledPattern{encodeProgram(compiled), uint64(min(most, governor.MaxMatch))}, nil
}

// patternError turns an error of the parser into a message for the operator.
func patternError(err error) error {
	var parse *syntax.Error
	if !errors.As(err, &parse) {
		return errors.New("is not a valid regular expression")
	}
	behind := strings.HasPrefix(parse.Expr, "(?<=") || strings.HasPrefix(parse.Expr, "(?<!")
	switch parse.Code {
	case syntax.ErrInvalidPerlOp:
		behind = true
	case syntax.ErrInvalidRepeatSize, syntax.ErrLarge:
		return errors.New("repeats too often; a match can have at most 256 bytes")
	}
	if behind {
		return fmt.Errorf("must not use %q: lookaround, backreferences and possessive quantifiers need backtracking; see https://pkg.go.dev/regexp/syntax", parse.Expr)
	}
	return fmt.Errorf("is not a valid regular expression: %s: %q", parse.Code, parse.Expr)
}

// matchLength returns the minimum and maximum length of a match in bytes. Both are capped at a number far above
// governor.MaxMatch.
func matchLength(re *syntax.Regexp) (least, most int) {
	const bound = 1 << 20
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			short, long := foldedLength(r, re.Flags&syntax.FoldCase != 0)
			least, most = least+short, most+long
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			if short := utf8.RuneLen(max(re.Rune[i], 0)); i == 0 || short < least {
				least = max(short, 1)
			}
			most = utf8.UTFMax
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, utf8.UTFMax
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			short, long := matchLength(sub)
			least, most = min(least+short, bound), min(most+long, bound)
		}
	case syntax.OpAlternate:
		for i, sub := range re.Sub {
			short, long := matchLength(sub)
			if i == 0 || short < least {
				least = short
			}
			most = max(most, long)
		}
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		return repeatedLength(re, bound)
	case syntax.OpNoMatch:
		return bound, bound
	}
	return least, most
}

// repeatedLength does the same as matchLength for a repetition.
func repeatedLength(re *syntax.Regexp, bound int) (least, most int) {
	short, long := matchLength(re.Sub[0])
	switch re.Op {
	case syntax.OpQuest:
		return 0, long
	case syntax.OpStar:
		return 0, bound
	case syntax.OpPlus:
		return short, bound
	}
	if most = bound; re.Max >= 0 {
		most = min(long*re.Max, bound)
	}
	return min(short*re.Min, bound), most
}

// foldedLength returns the minimum and maximum length of a letter in bytes. If fold is set, it considers all cases of
// the letter.
func foldedLength(r rune, fold bool) (least, most int) {
	least = max(utf8.RuneLen(r), 1)
	most = least
	if !fold {
		return least, most
	}
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least, most = min(least, utf8.RuneLen(other)), max(most, utf8.RuneLen(other))
	}
	return least, most
}

// programWriter collects the parts of a program. See core/governor/program.go for the format.
type programWriter struct {
	first        [32]byte
	instructions []byte
	ranges       []byte
}

// encodeProgram encodes a program in the core's format. Captures become jumps.
func encodeProgram(p *syntax.Prog) []byte {
	w := &programWriter{}
	for i := range p.Inst {
		w.instruction(&p.Inst[i])
	}
	w.begins(p, uint32(p.Start), make([]bool, len(p.Inst)))
	out := append([]byte{governor.ProgramFormat}, w.first[:]...)
	out = binary.LittleEndian.AppendUint16(out, uint16(p.Start))
	out = binary.LittleEndian.AppendUint16(out, uint16(len(p.Inst)))
	return append(append(out, w.instructions...), w.ranges...)
}

func (w *programWriter) instruction(i *syntax.Inst) {
	switch i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		w.add(governor.OpEither, i.Out, i.Arg)
	case syntax.InstEmptyWidth:
		w.add(governor.OpAssert, i.Out, i.Arg)
	case syntax.InstCapture, syntax.InstNop:
		w.add(governor.OpAssert, i.Out, 0)
	case syntax.InstMatch:
		w.add(governor.OpMatch, 0, 0)
	case syntax.InstRuneAny:
		w.add(governor.OpAny, i.Out, 0)
	case syntax.InstRuneAnyNotNL:
		w.add(governor.OpAnyNotLine, i.Out, 0)
	case syntax.InstRune, syntax.InstRune1:
		ranges := runesOf(i)
		if len(ranges) == 2 && ranges[0] == ranges[1] {
			w.add(governor.OpRune, i.Out, uint32(ranges[0]))
			return
		}
		w.add(governor.OpRanges, i.Out, uint32(len(w.ranges)/8)|uint32(len(ranges)/2)<<16)
		for _, r := range ranges {
			w.ranges = binary.LittleEndian.AppendUint32(w.ranges, uint32(r))
		}
	default: // InstFail
		w.add(governor.OpRanges, 0, 0)
	}
}

func (w *programWriter) add(op byte, next, argument uint32) {
	w.instructions = binary.LittleEndian.AppendUint16(append(w.instructions, op, 0), uint16(next))
	w.instructions = binary.LittleEndian.AppendUint32(w.instructions, argument)
}

// runesOf returns the character ranges of an instruction in order. For a letter that matches in any case, the ranges
// include the letter's other cases.
func runesOf(i *syntax.Inst) []rune {
	switch {
	case len(i.Rune) == 1 && syntax.Flags(i.Arg)&syntax.FoldCase != 0:
		least := i.Rune[0]
		for r := unicode.SimpleFold(least); r != i.Rune[0]; r = unicode.SimpleFold(r) {
			least = min(least, r)
		}
		ranges := []rune{least, least}
		for r := unicode.SimpleFold(least); r != least; r = unicode.SimpleFold(r) {
			ranges = append(ranges, r, r)
		}
		return ranges
	case len(i.Rune) == 1:
		return []rune{i.Rune[0], i.Rune[0]}
	}
	return i.Rune
}

// begins adds every byte that can be the next one when a match continues at instruction pc.
func (w *programWriter) begins(p *syntax.Prog, pc uint32, seen []bool) {
	if seen[pc] {
		return
	}
	seen[pc] = true
	switch i := &p.Inst[pc]; i.Op {
	case syntax.InstAlt, syntax.InstAltMatch:
		w.begins(p, i.Out, seen)
		w.begins(p, i.Arg, seen)
	case syntax.InstEmptyWidth, syntax.InstCapture, syntax.InstNop:
		w.begins(p, i.Out, seen)
	case syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		w.firstBytes(0, unicode.MaxRune)
	case syntax.InstRune, syntax.InstRune1:
		ranges := runesOf(i)
		for n := 0; n < len(ranges); n += 2 {
			w.firstBytes(ranges[n], ranges[n+1])
		}
	}
}

// firstBytes adds the first UTF-8 bytes of the characters in a range. If the range contains U+FFFD, it adds every
// byte above ASCII, because malformed UTF-8 is decoded as U+FFFD.
func (w *programWriter) firstBytes(low, high rune) {
	for r := low; r <= high && r < utf8.RuneSelf; r++ {
		w.first[r>>3] |= 1 << (r & 7)
	}
	if high < utf8.RuneSelf {
		return
	}
	from, to := leadByte(max(low, utf8.RuneSelf)), leadByte(high)
	if low <= utf8.RuneError && utf8.RuneError <= high {
		from, to = utf8.RuneSelf, 0xff
	}
	for b := from; b <= to; b++ {
		w.first[b>>3] |= 1 << (b & 7)
	}
}

// leadByte returns the first byte of a code point in UTF-8.
func leadByte(r rune) int {
	var text [utf8.UTFMax]byte
	utf8.EncodeRune(text[:], r)
	return int(text[0])
}
