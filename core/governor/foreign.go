package governor

import "strings"

// foreignWords lists words that contain letters beyond ASCII and name subjects. Each word is followed by a bar. The
// scanner reads only ASCII as words, so it recognizes foreign words by their first two bytes: see mayBeForeign.
var foreignWords = [...]struct {
	subject context
	words   string
}{
	{aboutPhone, "телефон|Телефон|тел.|Тел.|电话|手机|電話|携帯|전화|휴대|τηλ|Τηλ|هاتف|טלפון|โทร|फोन|फ़ोन|मोबा|"},
	{aboutIndia, "आधार|"},
	{aboutIsrael, "תעודת זהות|ת.ז|"},
	{aboutTax, "ΑΦΜ|ИНН|ІПН|РНОКПП|УНП|ИИН|ЖСН|税号|稅號|纳税人|"},
	{aboutDocument, "ΑΜΚΑ|ЛНЧ|運転免許|在留カード|운전면허|هوية|کد ملی|الرقم القومي|удостоверени|驾驶证|社保|居留证|רישיון|"},
	{aboutThailand, "เลขประจำตัว|เลขบัตร|"},
	{aboutPassport, "护照|護照|旅券|パスポート|여권|паспорт|Паспорт|דרכון|جواز|"},
	{aboutID, "СНИЛС|身份证|身份證|身分證|ЈМБГ|"},
	{aboutKorea, "외국인등록|주민등록|"},
	{aboutJapan, "個人番号|マイナンバー|"},
	{aboutBulgaria, "ЕГН|"},
	{aboutCard, "卡号|卡號|カード番号|"},
	{aboutBank, "口座番号|"},
	{aboutBirth, "생년월일|出生|生于|生於|生年月日|рождения|родил|生日|γέννη|ödd|ødt|"},
	{aboutSecret | aboutPassword, "密码|密碼|口令|пароль|Пароль|비밀번호|パスワード|סיסמה|암호|暗証番号|şifre|Şifre|κωδικός|รหัสผ่าน|पासवर्ड|كلمة المرور|ña|"},
}

// mayBeForeign reports whether two bytes may be the beginning of one of foreignWords, or of the é in "tél".
func mayBeForeign(first, second byte) bool {
	return first >= 0xc0 && second&0xc0 == 0x80 && foreignSeconds[first-0xc0]>>(second&63)&1 == 1
}

// foreign notes the subject of a foreign word at i. If the word is about birth or a password, foreign looks for the
// value after it.
func (s *Scanner) foreign(v *view, i int) (next int, ok bool) {
	if v.at(i-1)|0x20 == 't' && v.has(i, "él") && !isLetterByte(v.at(i+len("él"))) {
		s.note(aboutPhone, i)
		return 0, false
	}
	if v.at(i-1)|0x20 == 'n' && !isAlnum(v.at(i-2)) && (v.has(i, "é ") || v.has(i, "ée ")) { // né le 14 mars 1990
		return s.birthDate(v, i+len("é"))
	}
	if v.has(i, "ña") && !v.has(i-len("ontrase"), "ontrase") {
		return 0, false // "ña" is part of a word for a password only in contraseña
	}
	for n := range foreignWords {
		one := &foreignWords[n]
		end := foreignEnd(v, i, one.words)
		if end < 0 {
			continue
		}
		s.note(one.subject, end)
		switch {
		case one.subject&aboutBirth != 0:
			return s.birthDate(v, end)
		case one.subject&aboutSecret != 0:
			return s.assignment(v, i, end, one.subject)
		}
		return 0, false
	}
	return 0, false
}

// foreignEnd returns the end of the listed word that begins at i, or -1 if there is none.
func foreignEnd(v *view, i int, words string) int {
	for words != "" {
		word, rest, _ := strings.Cut(words, "|")
		if v.has(i, word) {
			return i + len(word)
		}
		words = rest
	}
	return -1
}
