package governor

import (
	"math/bits"
	"strings"
)

// injectionPhrase is a phrase, written as steps with spaces between them. A step consists of alternatives with bars
// between them. If an alternative ends with a star, the word may have any ending. Each step after the first starts
// with a digit. The digit says how many other words may come before the step.
type injectionPhrase struct {
	rule  ID
	steps string
}

// injectionPhrases lists phrases from published collections of attacks, by kind. They are heuristics. Sources:
// https://genai.owasp.org/llmrisk/llm01-prompt-injection/, https://github.com/leondz/garak (promptinject, dan),
// https://arxiv.org/abs/2211.09527.
var injectionPhrases = [...]injectionPhrase{
	{ruleOverride, "ignore|disregard|forget|override|bypass 4|previous|prior|above|earlier|preceding|foregoing|initial|original|existing|current|system|safety|your|all 3|instruction*|prompt*|rule*|direction*|guideline*|directive*|command*|context|programming|restriction*|guardrail*"},
	{ruleOverride, "do 0|not 1|follow|obey 3|previous|prior|above|earlier|system|original 2|instruction*|prompt*|rule*|guideline*"},
	{ruleOverride, "forget|ignore|disregard 0|everything|all 3|above|previously|told|said"},
	{ruleOverride, "new|developer 0|instruction*|system 0|from|override|prompt 1|system|developer|mode|admin*|now"},
	{ruleReveal, "reveal|print|show|repeat|output|tell|display|leak|give 4|system|initial|original|hidden|secret|developer|confidential 2|prompt|instruction*|message"},
	{ruleReveal, "what 0|is|are|was|were 0|your|the 1|system|initial|original|hidden 0|prompt|instruction*"},
	{ruleReveal, "repeat|output|print 3|words|text|everything 1|above|before"},
	{ruleRole, "you 0|are|will|must 1|now 3|dan|jailbroken|unrestricted|unfiltered|uncensored|evil"},
	{ruleRole, "act|pretend|behave 4|dan|jailbroken|unrestricted|unfiltered|uncensored"},
	{ruleRole, "act|pretend|behave 3|no|without 2|restriction*|rule*|filter*|limit*|guideline*|ethic*|moral*"},
	{ruleRole, "enter|enable|activate|jailbreak|developer 2|developer|dan|god|jailbreak|mode 0|mode|enabled"},
	{ruleRole, "do 0|anything 0|now"},
	{ruleSmuggle, "do 0|not 1|tell|inform|mention|reveal|show 3|user|human|anyone 3|this|that"},
	{ruleSmuggle, "without 0|telling|informing|notifying|alerting 1|user|human"},
	{ruleSmuggle, "never 0|mention|reveal|disclose 2|this|these 2|instruction*|prompt*|message"},
}

// second holds, for each phrase, the first letters of the words that the second step matches, as bits. If other words
// may come before the second step, all bits are set.
var second = func() (letters [len(injectionPhrases)]uint32) {
	for i := range injectionPhrases {
		_, steps, _ := strings.Cut(injectionPhrases[i].steps, " ")
		step, _, _ := strings.Cut(steps[2:], " ")
		for _, one := range strings.Split(step, "|") {
			letters[i] |= 1 << (one[0] & 31)
		}
		if steps[0] != '0' {
			letters[i] = 1<<32 - 1
		}
	}
	return letters
}()

// mayContinue reports whether one of the phrases may continue after its first word. The first word ends at i.
func mayContinue(text []byte, i int, phrases uint32) bool {
	for end := min(i+maxGap, len(text)); i < end && !isLetterByte(text[i]); i++ {
		if !joinsWords(text[i]) {
			return false
		}
	}
	if i == len(text) {
		return true
	}
	for ; phrases != 0; phrases &= phrases - 1 {
		if second[bits.TrailingZeros32(phrases)]>>(text[i]&31)&1 != 0 {
			return true
		}
	}
	return false
}

// maxGap is the maximum number of bytes between two words of a phrase.
const maxGap = 3

// joinsWords reports whether a byte can be between two words of a phrase.
func joinsWords(b byte) bool {
	return b == ' ' || b == '\'' || b == ',' || b == '"' || b == '\n' || b == '-' || b == '*'
}

// phrase tries injection phrases at a word. phrases is the set of phrases to try, as bits.
func (s *Scanner) phrase(v *view, start int, phrases uint32) (next int, ok bool) {
	for ; phrases != 0; phrases &= phrases - 1 {
		p := &injectionPhrases[bits.TrailingZeros32(phrases)]
		if end := phraseEnd(v, start, p.steps); end > 0 {
			if next, ok = s.emit(v, p.rule, start, end); ok {
				return next, true
			}
		}
	}
	return 0, false
}

// phraseEnd returns the end of a phrase whose first word is at i. If the text is not the phrase, phraseEnd returns
// -1. Words are runs of letters. A phrase does not extend past its sentence. Each step takes the first word that
// fits.
func phraseEnd(v *view, i int, steps string) int {
	start, end := i, v.run(i, 24, isLower|isUpper)
	_, steps, _ = strings.Cut(steps, " ")
	for len(steps) > 0 {
		skip := int(steps[0] - '0')
		step, rest, _ := strings.Cut(steps[2:], " ")
		steps = rest
		for fits := false; !fits; skip-- {
			if skip < 0 {
				return -1
			}
			if i = nextWord(v, end); i < 0 {
				return -1
			}
			end = v.run(i, 24, isLower|isUpper)
			if end-start > maxPhrase {
				return -1
			}
			fits = alternative(step, v.text[i:end])
		}
	}
	return end
}

// nextWord returns the start of the next word after i in the same sentence, or -1 if there is none.
func nextWord(v *view, i int) int {
	for end := i + maxGap; i <= end; i++ {
		b := v.at(i)
		if isLetterByte(b) {
			return i
		}
		if !joinsWords(b) {
			return -1
		}
	}
	return -1
}

// alternative reports whether a word matches one of the alternatives of a step.
func alternative(step string, word []byte) bool {
	for at := 0; at < len(step); at++ {
		from := at
		for at < len(step) && step[at] != '|' {
			at++
		}
		if step[from] != word[0]|0x20 {
			continue
		}
		one := step[from:at]
		if last := len(one) - 1; one[last] == '*' {
			if len(word) >= last && equalFold(one[:last], word[:last]) {
				return true
			}
		} else if equalFold(one, word) {
			return true
		}
	}
	return false
}

// delimiters lists marks of chat templates. A user's text does not need them. Sources:
// https://github.com/openai/openai-python/blob/v0.28.1/chatml.md, the model cards of Llama 2, Llama 3 and Mistral.
var delimiters = []string{"<|im_start|>", "<|im_end|>", "<|system|>", "<|assistant|>", "<|user|>", "<|endoftext|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|begin_of_text|>", "<<SYS>>", "<</SYS>>", "[INST]", "[/INST]", "[SYSTEM]"}

// delimiter looks for a mark of a chat template at '<' or '['.
func (s *Scanner) delimiter(v *view, i int) (next int, ok bool) {
	for _, d := range delimiters {
		if v.has(i, d) {
			return s.emit(v, ruleDelimiter, i, i+len(d))
		}
	}
	return 0, false
}
