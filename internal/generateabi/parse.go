package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parser reads a schema line by line. It keeps the comment lines before a declaration, which document it.
type parser struct {
	lines  []string
	number int // number of the current line, from 1
	doc    []string
	out    schema
}

// parse parses a schema. An error names the line.
func parse(text string) (*schema, error) {
	p := parser{lines: strings.Split(text, "\n")}
	for {
		line, ok := p.next()
		if !ok {
			break
		}
		if err := p.declaration(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", p.number, err)
		}
	}
	if err := p.out.check(); err != nil {
		return nil, err
	}
	return &p.out, nil
}

// next returns the next line with content, without its indentation. On the way, it collects comment lines. A blank
// line or a heading ends a comment.
func (p *parser) next() (string, bool) {
	for p.number < len(p.lines) {
		line := strings.TrimSpace(p.lines[p.number])
		p.number++
		switch {
		case line == "", strings.HasPrefix(line, "#"):
			p.doc = nil
		case strings.HasPrefix(line, "//"):
			p.doc = append(p.doc, strings.TrimSpace(line[2:]))
		default:
			return line, true
		}
	}
	return "", false
}

// takeDoc returns and clears the comment before the current line.
func (p *parser) takeDoc() []string {
	doc := p.doc
	p.doc = nil
	return doc
}

func (p *parser) declaration(line string) error {
	doc := p.takeDoc()
	keyword, rest, _ := strings.Cut(line, " ")
	switch keyword {
	case "version":
		p.out.version, p.out.versionDoc = rest, doc
		_, err := strconv.ParseUint(rest, 10, 32)
		return err
	case "call":
		return p.call(rest)
	case "const":
		return p.constants(doc, rest)
	case "enum":
		return p.enum(doc, rest)
	case "struct", "message", "row", "command":
		return p.record(doc, keyword, rest)
	}
	return fmt.Errorf("unknown keyword %q", keyword)
}

// call parses NAME(INPUT) OUTPUT.
func (p *parser) call(text string) error {
	name, rest, ok := strings.Cut(text, "(")
	input, output, ok2 := strings.Cut(rest, ") ")
	p.out.calls = append(p.out.calls, call{name, input, output})
	if !ok || !ok2 {
		return errors.New("a call is NAME(MESSAGE) MESSAGE")
	}
	return nil
}

func (p *parser) constants(doc []string, text string) error {
	c := constants{doc: doc, group: text == "("}
	var err error
	if c.group {
		c.list, err = p.list(")")
	} else {
		var one constant
		one, err = parseConstant(text)
		c.list = []constant{one}
	}
	p.out.parts = append(p.out.parts, c)
	return err
}

func (p *parser) enum(doc []string, text string) error {
	name, err := opened(text)
	if err != nil {
		return err
	}
	list, err := p.list("}")
	p.out.parts = append(p.out.parts, enum{doc, name, list})
	return err
}

// opened returns a declaration's text before the brace that opens its body.
func opened(text string) (string, error) {
	name, ok := strings.CutSuffix(text, " {")
	if !ok {
		return "", errors.New("a declaration ends with {")
	}
	return name, nil
}

func (p *parser) list(end string) (list []constant, err error) {
	for {
		line, ok := p.next()
		if !ok {
			return nil, errors.New("the file ends in a list")
		}
		if line == end {
			p.doc = nil
			return list, nil
		}
		c, err := parseConstant(line)
		if err != nil {
			return nil, err
		}
		c.doc = p.takeDoc()
		list = append(list, c)
	}
}

// parseConstant parses NAME = VALUE [: FIELD, …] [// COMMENT].
func parseConstant(line string) (constant, error) {
	line, comment := cutComment(line)
	name, rest, ok := strings.Cut(line, "=")
	if !ok {
		return constant{}, errors.New("a constant is NAME = VALUE")
	}
	c := constant{name: strings.TrimSpace(name), comment: comment, value: strings.TrimSpace(rest)}
	if strings.HasPrefix(c.value, `"`) {
		_, err := strconv.Unquote(c.value)
		return c, err
	}
	value, fields, ok := strings.Cut(c.value, ": ")
	c.value = value
	if ok {
		for name := range strings.SplitSeq(fields, ", ") {
			name, inPlace := strings.CutSuffix(name, " in place")
			c.fields = append(c.fields, use{name, inPlace})
		}
	}
	return c, nil
}

func cutComment(line string) (code, comment string) {
	code, comment, _ = strings.Cut(line, "// ")
	return strings.TrimSpace(code), comment
}

// record parses NAME [OP] [to core|to host] { and the fields.
func (p *parser) record(doc []string, keyword, text string) error {
	head, err := opened(text)
	if err != nil {
		return err
	}
	r := record{doc: doc, keyword: keyword, common: -1}
	head, r.toCore = strings.CutSuffix(head, " to core")
	head, toHost := strings.CutSuffix(head, " to host")
	if (keyword == "struct") == (r.toCore || toHost) {
		return errors.New("all but a struct have a direction")
	}
	r.name, r.op, _ = strings.Cut(head, " ")
	for {
		line, ok := p.next()
		switch {
		case !ok:
			return errors.New("the file ends in a record")
		case line == "}":
			if r.common < 0 {
				r.common = len(r.fields)
			}
			p.out.parts = append(p.out.parts, r)
			return nil
		case line == "by Kind":
			r.common = len(r.fields)
			continue
		}
		f, err := parseField(line)
		if err != nil {
			return err
		}
		f.doc = p.takeDoc()
		r.fields = append(r.fields, f)
	}
}

// parseField parses NAME TYPE [if NAME] [unless NAME] [in place] [apart] [// COMMENT], or embed NAME.
func parseField(line string) (field, error) {
	line, comment := cutComment(line)
	words := strings.Fields(line)
	if len(words) < 2 {
		return field{}, errors.New("a field is NAME TYPE")
	}
	f := field{name: words[0], typ: words[1], comment: comment}
	if f.name == "embed" {
		f.name, f.embedded = f.typ, true
	}
	for words = words[2:]; len(words) > 0; words = words[1:] {
		switch {
		case words[0] == "apart":
			f.apart = true
			continue
		case len(words) == 1:
			return f, fmt.Errorf("unknown word %q", words[0])
		case words[0] == "if":
			f.ifSet = words[1]
		case words[0] == "unless":
			f.unless = words[1]
		case words[0] == "in" && words[1] == "place":
			f.inPlace = true
		default:
			return f, fmt.Errorf("unknown word %q", words[0])
		}
		words = words[1:]
	}
	return f, nil
}
