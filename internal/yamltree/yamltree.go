// Package yamltree parses a YAML document into a tree with line numbers. Error messages can then name the line of a
// problem. Numbers keep their digits.
package yamltree

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

var kindNames = []string{"null", "a boolean", "a number", "a string", "a list", "a map"}

func (k Kind) String() string { return kindNames[k] }

// Node is a value in the document. Lines are numbered from 1.
type Node struct {
	Kind    Kind
	Line    int
	Text    string // text of a Bool, Number or String
	List    []*Node
	Members []Member // members of a Map, in order; keys are unique
}

// Member is an entry of a Map.
type Member struct {
	Key   string
	Line  int
	Value *Node
}

// Limits of a document.
const (
	maxNodes = 100_000 // an alias counts each time it is used
	maxDepth = 50
)

// Parse parses one document. For an empty document, it returns an empty Map.
func Parse(text []byte) (*Node, error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("must not contain NUL characters")
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, syntax(err)
	}
	if len(file.Docs) > 1 {
		return nil, errors.New("must be one YAML document, not several")
	}
	empty := &Node{Kind: Map, Line: 1}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return empty, nil
	}
	c := &converter{anchors: map[string]*Node{}}
	root := c.node(file.Docs[0].Body, 0)
	if c.err == nil && root.Kind == Null {
		return empty, nil
	}
	return root, c.err
}

// syntax returns a parser's error on one line. It leaves out the excerpt of the document, because that may contain
// secrets.
func syntax(err error) error {
	message, _, _ := strings.Cut(err.Error(), "\n")
	place, rest, ok := strings.Cut(strings.TrimPrefix(message, "["), "] ")
	line, _, _ := strings.Cut(place, ":")
	if !ok {
		return errors.New("is not valid YAML: " + message)
	}
	return fmt.Errorf("is not valid YAML: line %s: %s", line, rest)
}

type converter struct {
	anchors map[string]*Node
	count   int
	err     error
}

func (c *converter) fail(line int, what string) *Node {
	if c.err == nil {
		c.err = fmt.Errorf("line %d: %s", line, what)
	}
	return &Node{Line: line}
}

func (c *converter) node(n ast.Node, depth int) *Node {
	line := n.GetToken().Position.Line
	switch c.count++; {
	case c.err != nil:
		return &Node{}
	case c.count > maxNodes:
		return c.fail(line, "the document has more than "+strconv.Itoa(maxNodes)+" values")
	case depth > maxDepth:
		return c.fail(line, "the document is nested more than "+strconv.Itoa(maxDepth)+" levels deep")
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		return c.mapping(line, n.Values, depth)
	case *ast.MappingValueNode:
		return c.mapping(line, []*ast.MappingValueNode{n}, depth)
	case *ast.SequenceNode:
		list := &Node{Kind: List, Line: line}
		for _, value := range n.Values {
			list.List = append(list.List, c.node(value, depth+1))
		}
		return list
	case *ast.AnchorNode:
		value := c.node(n.Value, depth+1)
		c.anchors[n.Name.GetToken().Value] = value
		return value
	case *ast.AliasNode:
		return c.alias(line, n.Value.GetToken().Value)
	}
	return c.scalar(line, n)
}

// alias returns the anchor's value and counts its nodes. This limits documents that expand exponentially.
func (c *converter) alias(line int, name string) *Node {
	value, ok := c.anchors[name]
	if !ok {
		return c.fail(line, "unknown alias *"+name)
	}
	c.count += value.size()
	return value
}

func (n *Node) size() int {
	total := 1
	for _, element := range n.List {
		total += element.size()
	}
	for _, m := range n.Members {
		total += m.Value.size()
	}
	return total
}

func (c *converter) mapping(line int, values []*ast.MappingValueNode, depth int) *Node {
	node := &Node{Kind: Map, Line: line}
	seen := map[string]bool{}
	for _, value := range values {
		token := value.Key.GetToken()
		if _, merge := value.Key.(*ast.MergeKeyNode); merge {
			return c.fail(token.Position.Line, "merge keys (<<) are not supported")
		}
		if _, scalar := value.Key.(ast.ScalarNode); !scalar {
			return c.fail(token.Position.Line, "a key must be text")
		}
		if seen[token.Value] {
			return c.fail(token.Position.Line, "the key "+strconv.Quote(token.Value)+" is there twice")
		}
		seen[token.Value] = true
		node.Members = append(node.Members, Member{token.Value, token.Position.Line, c.node(value.Value, depth+1)})
	}
	return node
}

func (c *converter) scalar(line int, n ast.Node) *Node {
	token := n.GetToken()
	switch n := n.(type) {
	case *ast.NullNode:
		return &Node{Kind: Null, Line: line}
	case *ast.BoolNode:
		return &Node{Kind: Bool, Line: line, Text: strconv.FormatBool(n.Value)}
	case *ast.IntegerNode:
		if padded(token.Value) {
			return c.fail(line, "the number "+token.Value+" has a leading zero, with which some read it as octal; leave the zero out")
		}
		return &Node{Kind: Number, Line: line, Text: digits(token.Value, fmt.Sprint(n.Value))}
	case *ast.FloatNode:
		if math.IsInf(n.Value, 0) {
			return c.fail(line, "the number is too large")
		}
		return &Node{Kind: Number, Line: line, Text: digits(token.Value, strconv.FormatFloat(n.Value, 'f', -1, 64))}
	case *ast.StringNode:
		return &Node{Kind: String, Line: line, Text: n.Value}
	case *ast.LiteralNode:
		return &Node{Kind: String, Line: line, Text: n.Value.Value}
	}
	return c.fail(line, "unsupported value "+strconv.Quote(token.Value))
}

// padded reports whether a number has a leading zero. YAML 1.1 reads 010 as 8, and YAML 1.2 as 10.
func padded(number string) bool {
	number = strings.TrimLeft(number, "+-")
	return len(number) > 1 && number[0] == '0' && number[1] >= '0' && number[1] <= '9'
}

// digits returns a number as written if JSON allows it. It accepts 1.10 but not 0x10.
func digits(written, value string) string {
	if json.Valid([]byte(written)) {
		return written
	}
	return value
}

// Member returns the value of a key, or nil.
func (n *Node) Member(key string) *Node {
	for _, m := range n.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// JSON returns the value as JSON, with fields in the order of the document.
func (n *Node) JSON() []byte { return n.appendJSON(nil) }

func (n *Node) appendJSON(out []byte) []byte {
	switch n.Kind {
	case Null:
		return append(out, "null"...)
	case Bool, Number:
		return append(out, n.Text...)
	case String:
		return appendString(out, n.Text)
	case List:
		out = append(out, '[')
		for i, element := range n.List {
			if i > 0 {
				out = append(out, ',')
			}
			out = element.appendJSON(out)
		}
		return append(out, ']')
	}
	out = append(out, '{')
	for i, m := range n.Members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, m.Key), ':')
		out = m.Value.appendJSON(out)
	}
	return append(out, '}')
}

func appendString(out []byte, text string) []byte {
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string
	return append(out, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
