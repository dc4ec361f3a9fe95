package governor

// foreignWords is words of other scripts that name subjects. Bytes above ASCII are in no word, so they are looked for
// where their first two bytes are: see mayBeForeign.
var foreignWords = [...]struct {
	subject context
	word    string
}{
	{aboutPhone, "телефон"},
	{aboutPhone, "Телефон"},
	{aboutPhone, "тел."},
	{aboutPhone, "Тел."},
	{aboutPhone, "电话"},
	{aboutPhone, "手机"},
	{aboutPhone, "電話"},
	{aboutPhone, "携帯"},
	{aboutPhone, "전화"},
	{aboutPhone, "휴대"},
	{aboutPhone, "τηλ"},
	{aboutPhone, "Τηλ"},
	{aboutPhone, "هاتف"},
	{aboutPhone, "טלפון"},
	{aboutPhone, "โทร"},
	{aboutPhone, "फोन"},
	{aboutPhone, "मोबाइल"},
	{aboutIndia, "आधार"},
	{aboutIsrael, "תעודת זהות"},
	{aboutIsrael, "ת.ז"},
	{aboutTax, "ΑΦΜ"},
	{aboutDocument, "ΑΜΚΑ"},
	{aboutThailand, "เลขประจำตัวประชาชน"},
	{aboutThailand, "เลขบัตรประชาชน"},
	{aboutPassport, "护照"},
	{aboutPassport, "여권"},
	{aboutPassport, "паспорт"},
	{aboutID, "СНИЛС"},
	{aboutTax, "ИНН"},
	{aboutKorea, "외국인등록"},
	{aboutKorea, "주민등록"},
	{aboutJapan, "個人番号"},
	{aboutBulgaria, "ЕГН"},
	{aboutID, "身份证"},
	{aboutCard, "卡号"},
	{aboutBank, "口座番号"},
	{aboutBirth, "생년월일"},
	{aboutBirth, "出生日期"},
	{aboutBirth, "生年月日"},
	{aboutBirth, "рождения"},
	{aboutSecret | aboutPassword, "密码"},
	{aboutSecret | aboutPassword, "пароль"},
	{aboutSecret | aboutPassword, "Пароль"},
	{aboutSecret | aboutPassword, "비밀번호"},
}

// mayBeForeign reports whether one of foreignWords, or the é of "tél", may begin with two bytes.
func mayBeForeign(first, second byte) bool {
	switch first {
	case 0xc3:
		return second == 0xa9
	case 0xce:
		return second == 0xa4 || second == 0x91
	case 0xcf:
		return second == 0x84
	case 0xd0:
		return second == 0x95 || second == 0x98 || second == 0x9f || second == 0xa1 || second == 0xa2 || second == 0xbf
	case 0xd1:
		return second == 0x80 || second == 0x82
	case 0xd7:
		return second == 0x98 || second == 0xaa
	case 0xd9:
		return second == 0x87
	case 0xe0:
		return second == 0xa4 || second == 0xb9
	case 0xe5:
		return second == 0x80 || second == 0x87 || second == 0x8d || second == 0x8f || second == 0xaf
	case 0xe6:
		return second == 0x89 || second == 0x8a || second == 0x90
	case 0xe7:
		return second == 0x94
	case 0xe8:
		return second == 0xba
	case 0xe9:
		return second == 0x9b
	case 0xeb:
		return second == 0xb9
	case 0xec:
		return second == 0x83 || second == 0x97 || second == 0x99 || second == 0xa0 || second == 0xa3
	case 0xed:
		return second == 0x9c
	}
	return false
}

// foreign notes the subject of a word of another script at i, and looks behind the name of a birth or a password.
func (s *Scanner) foreign(v *view, i int) (next int, ok bool) {
	if v.at(i-1)|0x20 == 't' && v.has(i, "él") && !isLetterByte(v.at(i+len("él"))) {
		s.note(aboutPhone, i)
		return 0, false
	}
	for n := range foreignWords {
		one := &foreignWords[n]
		if !v.has(i, one.word) {
			continue
		}
		end := i + len(one.word)
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
