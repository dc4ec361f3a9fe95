package fakeprovider

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// GoodText is the default text of a valid response.
const GoodText = "Hello from upstream"

// The usage of every response, in tokens.
const (
	InputTokens     = 100
	OutputTokens    = 50
	CachedTokens    = 80 // of the input tokens, if the user message contains "cached"
	WrittenTokens   = 10 // of Anthropic's input tokens, if the message contains "for five minutes"
	HourTokens      = 6  // the same, if it contains "for an hour"
	ReasoningTokens = 20 // of the output tokens, if the model thinks
)

const (
	created      = 1790000000 // Unix seconds
	maxCount     = 10000
	thinkingText = "The user wants me to think. I shall say little."
	signature    = "RXFRQkNrWUlDeGdDS2tDZmFrZQ=="
)

// prompt is the family-independent content of a request.
type prompt struct {
	model        string
	stream       bool
	includeUsage bool   // OpenAI's stream_options
	choices      int    // 0 means 1
	text         string // the last user message
	tools        []tool
	toolChoice   string // auto, none, any, tool; empty is auto
	forcedTool   string // name of the forced tool
	oneCall      bool   // parallel calls are disabled
	custom       []tool // tools that take a text
	encrypted    bool   // reasoning is requested in encrypted form
	turns        []turn
	results      []string // tool results that follow the last message of another kind
	hasResult    bool     // the conversation has a tool result
	media        []string // descriptions of images, files and recordings
	json         bool
	schema       gjson.Result // the JSON Schema, if the request has one
}

type tool struct {
	name   string
	schema gjson.Result
	custom bool
}

func (p *prompt) addText(text string) {
	if p.text != "" {
		p.text += "\n"
	}
	p.text += text
	if n := len(p.turns); n > 0 {
		p.turns[n-1].text += text + "\n"
	} else {
		p.turns = []turn{{text: text}}
	}
}

func (p *prompt) addResult(text string) {
	p.results, p.hasResult = append(p.results, text), true
	if n := len(p.turns); n > 0 {
		p.turns[n-1].results++
	}
}

// startMessage starts a message that is not a tool result.
func (p *prompt) startMessage(fromUser bool) {
	p.results = nil
	if fromUser {
		p.text = ""
		p.turns = append(p.turns, turn{})
	}
}

// addMedia adds an image, a file or a recording: "an image (image/png, 12 bytes)".
func (p *prompt) addMedia(noun, media, data string) {
	n := base64.StdEncoding.DecodedLen(len(data)) - (len(data) - len(strings.TrimRight(data, "=")))
	p.media = append(p.media, noun+" ("+media+", "+strconv.Itoa(n)+" bytes)")
}

// addMediaURL adds media by URL, which can be a data URL.
func (p *prompt) addMediaURL(noun, url string) {
	if rest, ok := strings.CutPrefix(url, "data:"); ok {
		media, data, _ := strings.Cut(rest, ";base64,")
		p.addMedia(noun, media, data)
		return
	}
	p.media = append(p.media, noun+" ("+url+")")
}

// answer is the family-independent content of a response.
type answer struct {
	*prompt
	thinking  []string // pieces
	text      []string // pieces
	calls     []call
	finish    string // stop, tools, length, filter
	cached    int
	minutes   int // written to the prompt cache, for the default time
	hour      int // for an hour
	reasoning int
	hasUsage  bool
	usage     *ScriptedUsage // nil: the constants
	key       string         // identifies a scripted response, for its IDs
}

type call struct {
	name, args string
	key        string // identifies a scripted call, for its ID
	custom     bool   // args is a text
}

func (a *answer) fullText() string     { return strings.Join(a.text, "") }
func (a *answer) fullThinking() string { return strings.Join(a.thinking, "") }

// respond chooses the content of the response.
func respond(p *prompt, b *Behavior) *answer {
	a := &answer{prompt: p, finish: "stop", hasUsage: b.Kind != "no-usage"}
	if len(b.rules) > 0 && b.Text == "" {
		if !a.scripted(b.rules) {
			a.addWords(GoodText)
		}
		return a
	}
	if strings.Contains(p.text, "think") {
		a.thinking, a.reasoning = pieces(thinkingText, 16), ReasoningTokens
	}
	if strings.Contains(p.text, "cached") {
		a.cached = CachedTokens
	}
	if strings.Contains(p.text, "for five minutes") {
		a.minutes = WrittenTokens
	}
	if strings.Contains(p.text, "for an hour") {
		a.hour = HourTokens
	}
	if b.Kind == "plain" {
		a.thinking, a.reasoning = nil, 0
		a.addWords(GoodText)
	} else {
		a.content(b)
	}
	if b.Kind == "huge-event" {
		a.addHugePiece()
	}
	if b.Finish != "" {
		a.finish = b.Finish
	}
	return a
}

func (a *answer) content(b *Behavior) {
	p := a.prompt
	n := numberCount(p.text)
	switch {
	case b.Text != "":
		a.addWords(b.Text)
	case len(p.results) > 0:
		a.addWords("The tool said: " + strings.Join(p.results, "; "))
	case len(p.tools) > 0 && !p.hasResult && p.toolChoice != "none":
		a.calls, a.finish = a.callTools(), "tools"
	case p.json:
		a.text = pieces(string(instance(p.schema)), 12)
	case len(p.media) > 0:
		a.addWords("I see " + strings.Join(p.media, ", "))
	case n > 0:
		a.addNumbers(n)
	case b.Chunks > 0:
		a.addNumbers(b.Chunks)
		return
	default:
		a.addWords(GoodText)
	}
	if text := a.fullText(); b.Chunks > 0 && text != "" {
		a.text = pieces(text, (len([]rune(text))+b.Chunks-1)/b.Chunks)
	}
}

func (a *answer) addWords(text string) {
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			word = " " + word
		}
		if word != "" {
			a.text = append(a.text, word)
		}
	}
}

// numberCount returns the N of "count to N", at most maxCount, or 0 if the text does not say this.
func numberCount(text string) int {
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

func (a *answer) addNumbers(n int) {
	for i := 1; i <= n; i++ {
		piece := strconv.Itoa(i)
		if i > 1 {
			piece = " " + piece
		}
		a.text = append(a.text, piece)
	}
}

// callTools calls the forced tool. If no tool is forced, it calls the first tool, or the first two if the user
// message contains "parallel".
func (a *answer) callTools() []call {
	tools := a.tools[:1]
	if a.toolChoice == "tool" {
		for i := range a.tools {
			if a.tools[i].name == a.forcedTool {
				tools = a.tools[i : i+1]
			}
		}
	} else if len(a.tools) > 1 && !a.oneCall && strings.Contains(a.prompt.text, "parallel") {
		tools = a.tools[:2]
	}
	var calls []call
	for _, t := range tools {
		calls = append(calls, call{name: t.name, args: string(instance(t.schema))})
	}
	return calls
}

func (a *answer) addHugePiece() {
	long := strings.Repeat("0123456789", hugeEventLen/10)
	if a.calls = nil; a.finish == "tools" {
		a.finish = "stop"
	}
	a.text = append([]string{"Hello", long}, a.text...)
}

// uncachedInput returns the number of input tokens that are not cached. Some families count cached tokens separately.
func (a *answer) uncachedInput() int { return a.input() - a.cached }

// id returns the ID of the nth item of a kind, starting at 0.
func id(prefix string, n int) string { return prefix + strconv.Itoa(n+1) }
