package governor

import "unicode/utf8"

// A pattern's program is a nondeterministic finite automaton over Unicode code points. The control plane compiles the
// program from a regular expression. The program consists of these bytes. Numbers are in little-endian order:
//
//	1 byte     ProgramFormat
//	32 bytes   set of the bytes that a match may begin with: byte b is bit b%8 of byte b/8
//	u16        first instruction
//	u16        number of instructions
//	8 bytes    for each instruction: operation, zero, u16 next, u32 argument
//	8 bytes    for each range: u32 first and last code point
const (
	ProgramFormat   = 1
	InstructionSize = 8
	programHeader   = 1 + 32 + 2 + 2
)

// Operations of instructions.
const (
	OpMatch      = iota
	OpRune       // the code point in argument, then next
	OpRanges     // a code point in the ranges, then next; argument: the first range, plus their number times 2^16
	OpAny        // any code point, then next
	OpAnyNotLine // any code point except a line feed, then next
	OpEither     // next, or the instruction in argument
	OpAssert     // next, if the conditions in argument hold; bits as in regexp/syntax.EmptyOp
	operations
)

// Conditions of OpAssert, as in regexp/syntax.EmptyOp.
const (
	beginLine = 1 << iota
	endLine
	beginText
	endText
	wordBoundary
	noWordBoundary
)

// MaxMatch is the maximum length of a match of a pattern, in bytes. MaxInstructions limits the number of instructions
// of all patterns together, because it determines the work for each character.
const (
	MaxMatch        = 256
	MaxInstructions = 400
)

type program struct {
	rule         ID
	first        []byte
	instructions []byte
	ranges       []byte
	start        int // the first instruction
	base         int // the number of instructions in the programs before this one
}

// patterns contains the programs of all patterns whose rules apply.
type patterns struct {
	programs []program
	first    [32]byte // the bytes that can begin a match of any program
	total    int      // instructions
}

// loadPatterns returns the search for the patterns whose rules apply. If no pattern's rule applies, it returns nil.
func loadPatterns(p *Policy, r *Rules) *patterns {
	all := &patterns{}
	for i := range p.settings.Patterns {
		one, ok := readProgram(p.settings.Patterns[i].Program)
		if one.rule = p.patternRule(i); !ok || !r.Has(one.rule) || all.total+one.count() > MaxInstructions {
			continue
		}
		one.base = all.total
		all.total += one.count()
		for j, set := range one.first {
			all.first[j] |= set
		}
		all.programs = append(all.programs, one)
	}
	if len(all.programs) == 0 {
		return nil
	}
	return all
}

// readProgram reads a program. If the program is malformed, ok is false, and the program must not be used.
func readProgram(data []byte) (p program, ok bool) {
	if len(data) < programHeader || data[0] != ProgramFormat {
		return p, false
	}
	p.first, p.start = data[1:33], u16(data[33:], 0)
	n, rest := u16(data[33:], 1), data[programHeader:]
	if n*InstructionSize > len(rest) || p.start >= n {
		return p, false
	}
	p.instructions, p.ranges = rest[:n*InstructionSize], rest[n*InstructionSize:]
	return p, true
}

// Instructions returns the number of instructions in a program. If the program is malformed, it returns 0.
func Instructions(data []byte) int {
	p, _ := readProgram(data)
	return p.count()
}

func (p *program) count() int { return len(p.instructions) / InstructionSize }

// instruction returns an instruction's operation, the next instruction, and its argument. If the instruction does not
// exist, the operation matches nothing.
func (p *program) instruction(pc int) (op byte, next, argument int) {
	if pc >= p.count() {
		return operations, 0, 0
	}
	one := p.instructions[pc*InstructionSize:]
	return one[0], u16(one, 1), u16(one, 2) | u16(one, 3)<<16
}

// consumes reports whether the instruction pc accepts a code point. It also returns the next instruction.
func (p *program) consumes(pc int, r rune) (next int, ok bool) {
	op, next, argument := p.instruction(pc)
	switch op {
	case OpRune:
		return next, int(r) == argument
	case OpRanges:
		return next, p.inRanges(int(r), argument&0xffff, argument>>16)
	case OpAny:
		return next, true
	case OpAnyNotLine:
		return next, r != '\n'
	}
	return 0, false
}

// inRanges reports whether a code point is in one of the ranges. The ranges are sorted.
func (p *program) inRanges(r, first, count int) bool {
	low, high := first, min(first+count, len(p.ranges)/8)
	for low < high {
		middle := (low + high) / 2
		one := p.ranges[middle*8:]
		switch {
		case r < u16(one, 0)|u16(one, 1)<<16:
			high = middle
		case r > u16(one, 2)|u16(one, 3)<<16:
			low = middle + 1
		default:
			return true
		}
	}
	return false
}

// skip returns the index of the first byte from i on that may begin a match.
func (p *patterns) skip(text []byte, i int) int {
	for i < len(text) && p.first[text[i]>>3]>>(text[i]&7)&1 == 0 {
		i++
	}
	return i
}

// codePoint returns the code point at i of text[:to] and its length in bytes. At the end, or if some bytes of the
// code point have not arrived yet, the length is 0.
func codePoint(text []byte, i, to int, flush bool) (r rune, width int) {
	if i == to {
		return 0, 0
	}
	if text[i] < utf8.RuneSelf {
		return rune(text[i]), 1
	}
	if !flush && !utf8.FullRune(text[i:to]) {
		return 0, 0
	}
	return utf8.DecodeRune(text[i:to])
}
