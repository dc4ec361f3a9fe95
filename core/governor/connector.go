package governor

// maxIndent limits two things, in bytes: the white space between an element's name and its text, and the name of a
// type.
const maxIndent = 32

// connector returns the start of the value after the name [start, i), and the quote that encloses the value. If there
// is no value, the start is -1. If spaced is set, only a space may come before the value.
func connector(v *view, start, i int, spaced bool) (from int, quote byte) {
	for oneOf(v.at(i), "\"'`]\\*") {
		i++
	}
	if at := v.run(i+1, maxIndent, isDigit); v.at(i) == '[' && v.at(at) == ']' { // char password[32] = "…"
		i = at + 1
	}
	if v.at(i) == ')' && isQuote(v.at(i-1)) && v.at(i+1) != '.' {
		i = otherwise(v, i)
	} else if at := asserted(v, i); at >= 0 {
		i = at
	} else {
		i = operator(v, start, behindType(v, v.gap(i, maxIndent)), spaced)
	}
	if i < 0 {
		return -1, 0
	}
	i = v.spaces(i)
	if v.at(i) == '{' {
		i = behindDefault(v, i)
	} else if v.has(i, "<value>") {
		i += len("<value>")
	}
	return opened(v, i)
}

// behindDefault returns the start of a variable's default value: variable "token" { default = "…". The block of the
// variable begins at i. If there is no default, behindDefault returns i.
func behindDefault(v *view, i int) int {
	for at := i + 1; at < i+5*maxIndent && !oneOf(v.at(at), "{}\x00"); at++ {
		if v.has(at, "efault") {
			if at = v.blanks(at + len("efault")); v.at(at) == '"' {
				at = v.blanks(at + 1)
			}
			if oneOf(v.at(at), ":=") {
				return v.blanks(at + 1)
			}
		}
	}
	return i
}

// operator reads the text at i that connects the name at start with its value. It returns the end of that text, or -1
// if there is none.
func operator(v *view, start, i int, spaced bool) int {
	b, next := v.at(i), v.at(i+1)
	switch {
	case b == '>' && next == '@': // a placeholder, as in user:<password>@host
		return -1
	case v.at(start-1) == '<' && (b == '>' || v.at(i-1) == ' ' && isLetterByte(b)): // the name of an element
		return behindTag(v, i)
	case b == ':' && next == ':' && v.at(i+2) != '=' && v.at(i+2) != ':': // a path in code
		return -1
	case b == ':' || b == '=' || b == '>' || next == '=' && (oneOf(b, ".?") || b == '!' && isQuote(v.at(v.run(i+1, 2, isEqual)+1))) || next == '>' && b == '-':
		for i++; oneOf(v.at(i), "=>:"); i++ {
		}
		if v.has(i, "** ") { // **password:** …
			i += 2
		}
		return behindAnnotation(v, start, v.gap(i, maxIndent))
	case v.has(i, "</"): // <key>token</key><string>…</string>
		return nextElement(v, i+2)
	case b == ',' && isArgument(v, start, i): // setProperty("token", "…")
		return argument(v, v.gap(i+1, maxIndent), isQuote(v.at(i-1)))
	case v.has(i, "is: "):
		return i + 3
	case v.has(i, "is ") || v.has(i, "<- ") || v.has(i, "||") || v.has(i, "??") || v.has(i, "to ") && isQuote(v.at(i+3)):
		return i + 2
	case b == '(' && isQuote(next): // setToken("…")
		return i + 1
	case v.at(i-1) == ' ' && next == ' ' && oneOf(b, "-|"): // a list, a table
		return i + 1
	case v.has(i, "：") || v.has(i, "は"):
		return i + len("：")
	case b == '{' && isQuote(v.at(i-2)):
		return i
	case spaced || v.at(i-1) <= ' ' && (isQuote(b) || b == '\\' && isQuote(next)): // --token …, password "…"
		return i
	}
	return -1
}

// argument returns the index of the opening quote of an argument at i, or -1 if there is none. The argument may have
// a name: env("SECRET_KEY", default="…"). If the argument before it has no quotes, a string that names a secret is
// only a label for display: translate(LABEL_PASSWORD, "Password2").
func argument(v *view, i int, quoted bool) int {
	if v.has(i, "default=") {
		i += len("default=")
	}
	if !isQuote(v.at(i)) {
		return -1
	}
	if e, _ := lookUp(v.text[i+1 : v.run(i+1, maxIndent, isLower|isUpper)]); !quoted && e != nil && e.subject&(aboutSecret|aboutKey) != 0 {
		return -1
	}
	return i
}

// asserted looks for a string that a test compares with the result of a getter. The getter's name ends before i:
// assertThat(app.getToken(), equalTo("…")), expect(app.token).toBe("…"), if (getToken() == "…"). It also finds a
// string that a test of a web page types into a field: find("password").send_keys("…"). It returns the index of the
// string's opening quote, or -1 if there is none.
func asserted(v *view, i int) int {
	from := i
	if v.has(i, "()") {
		i += 2
	}
	if v.at(i) == ')' {
		i++
	}
	if i == from {
		return -1
	}
	switch after := v.at(i); {
	case after == ',':
		if i = v.spaces(i + 1); isQuote(v.at(i)) {
			return i
		}
	case v.has(i, " == ") || v.has(i, " != "):
		if i += len(" == "); isQuote(v.at(i)) {
			return i
		}
		return -1
	case after != '.':
		return -1
	}
	at := v.run(i, maxIndent, inWord)
	if v.at(at) != '(' || !isQuote(v.at(at+1)) {
		return -1
	}
	for _, name := range [...]string{"equalTo", "qual", "quals", "toBe", "eq", "is", "_keys", "Keys", ".type", ".fill"} {
		if v.has(at-len(name), name) {
			return at + 1
		}
	}
	return -1
}

// otherwise returns the start of the value that replaces a missing variable: getenv("TOKEN") ?? "…", get('TOKEN') or
// '…'. The variable's name and its closing quote end before i. If there is no such value, otherwise returns -1.
func otherwise(v *view, i int) int {
	from := v.spaces(i + 1)
	for i = from; i < from+2 && oneOf(v.at(i), "or|?:"); i++ {
	}
	if to := v.spaces(i); i > from && isQuote(v.at(to)) {
		return to
	}
	return -1
}

// behindTag returns the start of an element's text, which may be on the next line. The attributes or the end of the
// start tag are at i. If the start tag does not end, behindTag returns -1.
func behindTag(v *view, i int) int {
	for end := i + 2*maxIndent; i < end; i++ {
		switch b := v.at(i); {
		case b == '>':
			return v.blanks(i + 1)
		case b < ' ' || b == '<' || b == '/':
			return -1
		}
	}
	return -1
}

// behindWords returns the end of the words between a name and its value. Examples: password for the router: …, the
// token for staging is …, key 2: …. If there are no such words, behindWords returns i.
func behindWords(v *view, i int) int {
	if v.at(i) != ' ' {
		return i
	}
	at := v.run(i+1, 2, isDigit)
	if at > i+1 {
		if oneOf(v.at(v.spaces(at)), ":=") {
			return at
		}
		return i
	}
	if !v.has(i, " for ") && !v.has(i, " to ") {
		return i
	}
	for at = i; at < i+2*maxIndent && v.at(at) == ' '; {
		at = v.run(at+1, maxIndent, inWord)
		if oneOf(v.at(at), ":=") {
			return at
		}
		if v.has(at, " is ") {
			return at + 1
		}
	}
	return i
}

// opened returns the start of the value at i, after any quotes, and the quote character. If there is nothing between
// the quotes, the start is -1.
func opened(v *view, i int) (from int, quote byte) {
	if at := v.blanks(i); isQuote(v.at(at)) || v.has(at, "- ") && isQuote(v.at(at+2)) {
		i = at // on the next line
		if v.at(i) == '-' {
			i += 2
		}
	}
	if isQuote(v.at(i+1)) && oneOf(v.at(i), "[({@bBruRfFLN") { // a list, or a prefix of a string
		i++
	} else if at := v.blanks(i + 1); v.at(i) == '[' && isQuote(v.at(at)) {
		i = at
	}
	if v.has(i, "&quot;") {
		return i + len("&quot;"), '&'
	}
	i = inCall(v, i)
	if isQuote(v.at(i)) && v.at(i+1) == v.at(i) && v.at(i+2) != v.at(i) {
		return -1, 0 // nothing between the quotes
	}
	for isQuote(v.at(i)) || v.at(i) == '\\' {
		quote = v.at(i)
		i++
	}
	if quote != 0 && v.at(i) == ' ' {
		i++
	}
	return i, quote
}

func isQuote(b byte) bool { return oneOf(b, "\"'`") }

// conversions lists the functions that convert or wrap a string. Their names are in lower case.
var conversions = [...]string{"byte", "bytes", "getbytes", "from", "secretkeyspec", "ivparameterspec", "string", "str", "secretstr", "secretstring", "guardedstring", "fromstring", "plaintext", "unsafeplaintext", "text", "_t", "strdup", "stringptr", "ptr", "valueof", "cstring", "encode", "b64decode", "fromhex", "quote", "trim", "sensitive", "nonsensitive"}

// inCall looks for a call at i that converts a string to bytes or to another string type: []byte("…"),
// Buffer.from("…"), encoding.GetBytes("…"), new String("…"), SecretStr("…"). It returns the start of the quoted
// string, or i if there is no such call.
func inCall(v *view, i int) int {
	at := i
	if v.has(at, "new ") {
		at += len("new ")
	}
	from := at
	for end := at + maxIndent; at < end && (class[v.at(at)]&inWord != 0 || oneOf(v.at(at), "[]:")); at++ {
		if !isAlnum(v.at(at)) && v.at(at) != '_' {
			from = at + 1
		}
	}
	if v.at(at) != '(' || !isQuote(v.at(at+1)) {
		return i
	}
	for _, name := range conversions {
		if equalFold(name, v.text[from:at]) {
			return at + 1
		}
	}
	return i
}

// behindOptions skips options without a value: ConvertTo-SecureString -AsPlainText -Force …. The options start at i.
// behindOptions returns their end.
func behindOptions(v *view, i int) int {
	for n := 0; n < 3 && v.at(i) == ' ' && v.at(i+1) == '-' && isLetterByte(v.at(i+2)); n++ {
		i = v.run(i+2, maxIndent, isLower|isUpper)
	}
	return i
}

// isOption reports whether a space is enough between the name at start and its value: --token, -Password, ENV TOKEN.
func isOption(v *view, start int) bool {
	before := v.at(start - 1)
	return before == '-' && v.at(start-2) <= '-' || before == ' ' && (v.has(start-4, "ENV") || v.has(start-4, "env")) || equalFold("bearer", v.text[start:min(start+6, len(v.text))])
}

// nextElement returns the start of the next element's text after an end tag, or -1 if there is none. The end tag's
// name is at i.
func nextElement(v *view, i int) int {
	i = v.run(i, maxIndent, inWord)
	if v.at(i) != '>' {
		return -1
	}
	if i = v.blanks(i + 1); v.at(i) != '<' {
		return -1
	}
	if i = v.run(i+1, maxIndent, inWord); v.at(i) != '>' {
		return -1
	}
	return i + 1
}

// behindType returns the end of the name of a type or attribute between a name and its value. Examples: var token
// string = "…", <add key="token" value="…">, {"name": "token", "value": "…"}. If there is no such name, behindType
// returns i.
func behindType(v *view, i int) int {
	if v.at(i-1) == ' ' && (v.has(i, "string ") || v.has(i, "-String ")) {
		return v.run(i, len("-string"), inWord) + 1
	}
	at := v.blanks(i)
	for n := 0; n < 4 && oneOf(v.at(at), "\"',"); n++ {
		at = v.blanks(at + 1)
	}
	for n := range len("value") {
		if v.at(at+n)|0x20 != "value"[n] {
			return i
		}
	}
	if at += len("value"); isQuote(v.at(at)) {
		at++
	}
	return v.spaces(at)
}

// behindAnnotation returns the end of a type between a name and its value: token: str = "…". In a shell, a default
// has a dash in this place: ${TOKEN:-…}. If there is neither, behindAnnotation returns i.
func behindAnnotation(v *view, start, i int) int {
	if v.at(i) == '-' && v.at(start-1) == '{' {
		return i + 1
	}
	at := i
	for end := i + maxIndent; at < end && (isLetterByte(v.at(at)) || oneOf(v.at(at), "&'[]<>")); at++ {
	}
	if v.at(at) == ' ' && v.at(at+1) == '=' && v.at(at+2) != '=' && at > i {
		return v.spaces(at + 2)
	}
	return i
}

// blanks returns the end of the white space from i, up to maxIndent bytes.
func (v *view) blanks(i int) int {
	for end := i + maxIndent; i < end && oneOf(v.at(i), " \t\r\n"); i++ {
	}
	return i
}

// isArgument reports whether the name at start is an argument of a call. The name is either a constant, or the first
// argument, in quotes that end before i.
func isArgument(v *view, start, i int) bool {
	before := start - 1
	quote := v.at(before)
	if quote == '(' && (v.has(start-len("cmp("), "cmp(") || v.has(start-len("ompare("), "ompare(") || v.has(start-len("quals("), "quals(")) {
		return true
	}
	if !isQuote(quote) {
		return class[v.text[start]]&isUpper != 0 && class[v.at(i-1)]&isUpper != 0 && oneOf(quote, " (")
	}
	for before--; before > start-maxIndent && v.at(before) == ' '; before-- {
	}
	return v.at(before) == '(' && (v.at(i-1) == quote || v.at(i-2) == quote)
}

// spaces returns the end of the spaces and tabs at i. It reads at most four.
func (v *view) spaces(i int) int { return v.gap(i, 4) }

// gap returns the end of the spaces and tabs at i. The parameter most limits their number.
func (v *view) gap(i, most int) int {
	for end := i + most; i < end && (v.at(i) == ' ' || v.at(i) == '\t'); i++ {
	}
	return i
}
