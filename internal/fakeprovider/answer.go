package fakeprovider

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// GoodText is what a well-behaved provider says.
const GoodText = "Hello from upstream"

// What every answer takes, in tokens.
const (
	InputTokens     = 100
	OutputTokens    = 50
	CachedTokens    = 80 // of the input, if the user says "cached"
	ReasoningTokens = 20 // of the output, if the model thinks
)

const (
	created   = 1790000000 // Unix seconds
	maxCount  = 10000
	thought   = "The user wants me to think. I shall say little."
	signature = "RXFRQkNrWUlDeGdDS2tDZmFrZQ=="
)

// prompt is what a request asks for, whatever its family.
type prompt struct {
	model        string
	stream       bool
	includeUsage bool // OpenAI's stream_options
	choices      int  // 0 is one
	text         string
	tools        []tool
	toolChoice   string // auto, none, any, tool; empty is auto
	forced       string // the tool's name
	oneCall      bool   // parallel calls were switched off
	results      []string
	resulted     bool // some tool was called already
	media        []string
	json         bool
	schema       gjson.Result // exists only with json
}

type tool struct {
	name   string
	schema gjson.Result
}

// says adds to what the user said last.
func (p *prompt) says(text string) {
	if p.text != "" {
		p.text += "\n"
	}
	p.text += text
}

// result notes a tool's.
func (p *prompt) result(text string) {
	p.results, p.resulted = append(p.results, text), true
}

// turn begins a message that is no tool's result.
func (p *prompt) turn(ofUser bool) {
	p.results = nil
	if ofUser {
		p.text = ""
	}
}

// sees notes an image, a file or a piece of audio: "an image (image/png, 12 bytes)".
func (p *prompt) sees(what, media, data string) {
	n := base64.StdEncoding.DecodedLen(len(data)) - (len(data) - len(strings.TrimRight(data, "=")))
	p.media = append(p.media, what+" ("+media+", "+strconv.Itoa(n)+" bytes)")
}

// seesURL notes one by its address, or by a data URL.
func (p *prompt) seesURL(what, url string) {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		media, data, _ := strings.Cut(rest, ";base64,")
		p.sees(what, media, data)
		return
	}
	p.media = append(p.media, what+" ("+url+")")
}

// answer is what the provider says, whatever its family.
type answer struct {
	*prompt
	thinking []string // pieces
	text     []string // pieces
	calls    []call
	finish   string // stop, tools, length, filter
	cached   int
	reasoned int
	figures  bool // with usage
}

type call struct{ name, args string }

func (a *answer) all() string      { return strings.Join(a.text, "") }
func (a *answer) thoughts() string { return strings.Join(a.thinking, "") }

// respond decides what to say.
func respond(p *prompt, b *Behaviour) *answer {
	a := &answer{prompt: p, finish: "stop", figures: b.Kind != "no-usage"}
	if strings.Contains(p.text, "think") {
		a.thinking, a.reasoned = pieces(thought, 16), ReasoningTokens
	}
	if strings.Contains(p.text, "cached") {
		a.cached = CachedTokens
	}
	if b.Kind == "plain" {
		a.thinking, a.reasoned = nil, 0
		a.words(GoodText)
	} else {
		a.content(b)
	}
	if b.Kind == "huge-event" {
		a.huge()
	}
	if b.Finish != "" {
		a.finish = b.Finish
	}
	return a
}

func (a *answer) content(b *Behaviour) {
	p := a.prompt
	n := counted(p.text)
	switch {
	case len(p.results) > 0:
		a.words("The tool said: " + strings.Join(p.results, "; "))
	case len(p.tools) > 0 && !p.resulted && p.toolChoice != "none":
		a.calls, a.finish = a.choose(), "tools"
	case p.json:
		a.text = pieces(string(filled(p.schema)), 12)
	case len(p.media) > 0:
		a.words("I see " + strings.Join(p.media, ", "))
	case n > 0:
		a.count(n)
	case b.Chunks > 0:
		a.count(b.Chunks)
		return
	default:
		a.words(GoodText)
	}
	if text := a.all(); b.Chunks > 0 && text != "" {
		a.text = pieces(text, (len([]rune(text))+b.Chunks-1)/b.Chunks)
	}
}

// words cuts a text before each space.
func (a *answer) words(text string) {
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			word = " " + word
		}
		if word != "" {
			a.text = append(a.text, word)
		}
	}
}

// counted is the N of "count to N"; 0 if there is none.
func counted(text string) int {
	_, rest, ok := strings.Cut(text, "count to ")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, _ := strconv.Atoi(rest[:end])
	return min(n, maxCount)
}

func (a *answer) count(n int) {
	for i := 1; i <= n; i++ {
		piece := strconv.Itoa(i)
		if i > 1 {
			piece = " " + piece
		}
		a.text = append(a.text, piece)
	}
}

// choose calls the first tool, or the one that must be called; two if the user says "parallel".
func (a *answer) choose() []call {
	tools := a.tools[:1]
	if a.toolChoice == "tool" {
		for i := range a.tools {
			if a.tools[i].name == a.forced {
				tools = a.tools[i : i+1]
			}
		}
	} else if len(a.tools) > 1 && !a.oneCall && strings.Contains(a.prompt.text, "parallel") {
		tools = a.tools[:2]
	}
	var calls []call
	for _, t := range tools {
		calls = append(calls, call{t.name, string(filled(t.schema))})
	}
	return calls
}

// huge makes one piece of the text very long.
func (a *answer) huge() {
	long := strings.Repeat("0123456789", hugeEventLen/10)
	if a.calls = nil; a.finish == "tools" {
		a.finish = "stop"
	}
	a.text = append([]string{"Hello", long}, a.text...)
}

// freshInput is what was not read from the provider's cache, for families that count that apart.
func (a *answer) freshInput() int { return InputTokens - a.cached }

// id is a name for the n-th thing of a kind, from 0.
func id(prefix string, n int) string { return prefix + strconv.Itoa(n+1) }
