package governor

// context is a set of subjects that words near a candidate name.
type context uint64

const (
	aboutPhone context = 1 << iota
	aboutTax
	aboutID
	aboutSSN
	aboutBritain
	aboutHealth
	aboutGermany
	aboutSpain
	aboutNetherlands
	aboutPoland
	aboutSweden
	aboutVendor // services whose tokens have no prefix: see tokenFormats
	aboutDenmark
	aboutPortugal
	aboutBrazil
	aboutIndia
	aboutPAN
	aboutCanada
	aboutAustralia
	aboutSouthAfrica
	aboutTurkey
	aboutRomania
	aboutKorea
	aboutChile
	aboutArgentina
	aboutCzechia
	aboutBulgaria
	aboutEstonia
	aboutCroatia
	aboutIsrael
	aboutJapan
	aboutAustria
	aboutIreland
	aboutThailand
	aboutBelgium
	aboutBirth
	aboutBank
	aboutRouting
	aboutCard
	aboutPassport
	aboutDocument // identity cards, driving licenses, and the cards of voters and insured persons
	aboutFrance
	aboutSingapore
	aboutHongKong
	aboutTaiwan
	aboutWallet
	aboutNetwork
	aboutSecret   // the name of a secret: password, api_key
	aboutPassword // a secret that people choose
	aboutAWS
	aboutDatadog
	aboutHeroku
	aboutVercel
	aboutCloudflare
	aboutTwilio
	aboutKey     // part of a name that is not enough alone: the key of stripe_key, the pass of db_pass
	aboutHeader  // the header that carries credentials: authorization
	aboutCommand // a program that takes credentials on its command line: curl
	aboutLogin   // programs and files with a space before a password: netrc, docker login
	aboutCall    // words about phone numbers that also go with other numbers: office
	aboutArticle // things whose numbers do not identify a person: order, invoice, part
	subjects     = iota
)

// vocabulary, pairs and openingWords are the readable form of tables.go. After a change, run make generate.
//
// vocabulary lists words in lower case with their subjects. Letters beyond ASCII separate words. If a word in another
// language contains such a letter, only the part after it is listed: "teléfono" ends in "fono".
var vocabulary = []struct {
	subject context
	words   string
}{
	{aboutPhone, "telepono cep phone phones telephone tel mobile cell cellphone fax whatsapp sms telefon telefono telefone fono handy mobil movil celular rufnummer telefonnummer handynummer mobilnummer"},
	{aboutCall, "answering office call"},
	{aboutPhone, "telefonsz phonenumber telephonenumber mobilenumber fon telefoon telefoonnummer puhelin telefonszam cellulare portable"},
	{aboutPhone, "gsm hotline dial tlf mob telem telefonu telefonnr telefonnumer ph cel puhelinnumero telefoonnr telemovel sdt hp"},
	{aboutTax, "tin taxid taxpayer steuernummer taxnumber nit npwp utr afm ird nip"},
	{aboutPortugal, "vat"},
	{aboutID, "nationalid idnumber identitycard citizenid personnummer identification nationalidentity govid ausweis ausweisnummer cedula"},
	{aboutSSN, "ssn itin atin socialsecuritynumber socialsecurity"},
	{aboutBritain, "nino nin"},
	{aboutHealth, "nhs nhsnumber npi"},
	{aboutGermany, "steuer steuerid steueridentifikationsnummer identifikationsnummer idnr steuernummer rentenversicherungsnummer sozialversicherungsnummer rvnr versicherungsnummer"},
	{aboutSpain, "dni nif nie documento identidad"},
	{aboutNetherlands, "bsn burgerservicenummer sofinummer"},
	{aboutPoland, "pesel nip"},
	{aboutFrance, "nir insee vitale"},
	{aboutSweden, "personnummer samordningsnummer personnr"},
	{aboutID, "kennitala tunnus snils jmbg emso mykad nric cnic"},
	{aboutDenmark, "cpr cprnummer cprnr personnummer"},
	{aboutPortugal, "nif contribuinte fiscal"},
	{aboutBrazil, "cpf cnpj brazilian"},
	{aboutIndia, "aadhaar aadhar uidai uid voter epic"},
	{aboutPAN, "pan"},
	{aboutCanada, "sin nas"},
	{aboutAustralia, "tfn medicare abn acn"},
	{aboutTurkey, "turkish tckn kimlik tckimlik"},
	{aboutRomania, "cnp"},
	{aboutKorea, "rrn jumin"},
	{aboutChile, "rut run"},
	{aboutArgentina, "cuit cuil dni"},
	{aboutCzechia, "rodne rodn islo cislo"},
	{aboutBulgaria, "egn bulgarian"},
	{aboutEstonia, "isikukood asmens"},
	{aboutCroatia, "oib"},
	{aboutIsrael, "zehut teudat"},
	{aboutJapan, "mynumber"},
	{aboutAustria, "svnr sozialversicherungsnummer versicherungsnummer svnummer"},
	{aboutIreland, "pps ppsn ppsno"},
	{aboutBelgium, "rijksregisternummer rijksregister insz niss"},
	{aboutBirth, "dob birth birthday birthdate dateofbirth born geburtsdatum geboren nacimiento naissance nascita nascimento geboortedatum dselsdato foedselsdato delsedatum urodzenia bday"},
	{aboutBirth, "geb geburtstag nacido nacida nato nata nascido nascida narozen narozena urodzony urodzona fodt"},
	{aboutBank, "iban bban kontonummer kontonr accountnumber bankaccount acctnumber rib clabe kontonummeret acct cuenta compte konto rekening rekeningnummer"},
	{aboutRouting, "routing aba sortcode rtn bankleitzahl blz bsb"},
	{aboutCard, "card cards pay payment visa mastercard amex maestro discover cardnumber creditcard ccnumber cc kreditkarte kreditkartennummer tarjeta carte cartao kort carta"},
	{aboutPassport, "passport passports passportnumber reisepass reisepassnummer pasaporte passeport passaporto passaporte paspoort paspoortnummer paszport passnummer"},
	{aboutDocument, "nationalid idcard identitycard govid ausweis ausweisnummer personalausweis cedula identidad driverslicense driverlicense fuehrerschein"},
	{aboutDocument, "hrerschein hrerscheinnummer rijbewijs conduire conducir dula krankenversichertennummer versichertennummer kvnr nik ktp amka cnh identit lanr arztnummer egk krankenkasse fahrerlaubnis guida dl"},
	{aboutDocument, "mrn ruc rnc dui nss ine regon dowodu osobisty jazdy personalausweisnummer rkort rerkort rekort ajokortti igazolv taj idnp iin embg umcn iskaznica"},
	{aboutDocument, "ehliyet iqama nadra nid nic cccd cmnd sss umid philhealth philsys nhi bvn nida ssnit ohip dvla eleitor elector pasep pis cns motorista bilhete cidad"},
	{aboutDocument, "identiteitskaart onderwijsnummer henkilokortti henkilotunnus obcansky prukaz iskaznice kitambulisho leternjoftim adoazonosito rijbewijsnummer niss sanitaria buletin extranjer"},
	{aboutTax, "vergi kra contribuyente contribuyentes tributaria tributario nuit"},
	{aboutPassport, "pasaport paspor"},
	{aboutSingapore, "nric fin"},
	{aboutHongKong, "hkid hkic"},
	{aboutTaiwan, "arc"},
	{aboutNetwork, "mac ether ip ips ipv ipaddress addr address addresses host hosts server dns ping client remote forwarded peer subnet gateway"},
	{aboutWallet, "ethereum eth wallet erc20 etherscan metamask ether usdt usdc evm"},
	{aboutSecret, "secret basic apikey accesskey accesstoken authtoken apitoken secretkey privatekey token credential credentials creds authkey clientsecret bearer auth crumb refreshtoken secrets tokens apikeys cred authentication salt salts"},
	{aboutSecret | aboutPassword, "password passwd pwd passphrase passwort contrasena passcode pswd passw psw kennwort senha wachtwoord dbpassword userpassword passwrd pswrd pwrd passe passord adgangskode heslo parola salasana jelszo clave"},
	{aboutSecret | aboutPassword, "passwords psswd psword psswrd pssword paswd paswrd pasword dbpass userpass mdp senord kodeord sifre parol lozinka securestring psk storepass keypass"},
	{aboutAWS, "aws amazon"},
	{aboutDatadog, "datadog ddog"},
	{aboutHeroku, "heroku"},
	{aboutVercel, "vercel"},
	{aboutCloudflare, "cloudflare"},
	{aboutTwilio, "twilio"},
	{aboutVendor, "sonar sonarqube sumo sumologic sidekiq contribsys sourcegraph telegram okta ssws"},
	{aboutSecret | aboutPassword | aboutLogin, "requirepass masterauth"},
	{aboutSecret | aboutHeader, "authorization"},
	{aboutKey, "key pat api kty crv"},
	{aboutKey | aboutPassword, "pass pw"},
	{aboutCommand, "curl"},
	{aboutLogin, "login sqlcmd bcp sshpass mysql mysqldump mongo psql"},
	{aboutArticle, "hash sha order orders invoice part sku serial model version isbn issn ean upc"},
	{aboutArticle, "tracking ticket ref reference item product batch lot article build commit revision section sections chapter clause rfc appendix annex bestellung rechnung pedido catalog"},
	{aboutArticle, "securities cusip sedol isin imei iccid vin vehicle gtin"},
}

// openingWords lists the words that begin an injection phrase. It also has "sig", which begins an Azure shared access
// signature.
const openingWords = "sig ignore disregard forget override bypass do new developer reveal repeat output print show tell display leak give what you act pretend behave enter enable activate jailbreak without never"

// publicParts lists parts of names. A token or key with such a part in its name is not secret: next_page_token,
// key_id, passwordHash.
var publicParts = [...]string{"public", "version", "page", "next", "cursor", "csrf", "xsrf", "authenticity", "continuation", "publishable", "pub", "max", "sync", "hash", "digest", "checksum", "file", "path", "url", "uri", "name", "id", "type", "length", "count", "limit", "cache", "sort", "partition", "foreign", "object", "row", "map", "idempotency", "routing", "lookup", "fingerprint", "group"}

// publicLetters holds the first letters of publicParts, as bits. The index is the length of the part.
var publicLetters = firstLetters(publicParts[:])

func firstLetters(words []string) (letters [16]uint32) {
	for _, word := range words {
		letters[len(word)&15] |= 1 << (word[0] & 31)
	}
	return letters
}

// isPublic reports whether a part of the name [start, end) is one of publicParts. The part may end in "key". The
// exception is Vault's secret_id, which is a secret.
func isPublic(text []byte, start, end int) bool {
	for i := start; i < end; {
		if !isLetterByte(text[i]) {
			i++
			continue
		}
		from := i
		i = part(text, i, end)
		name := text[from:i]
		if n := len(name) - len("key"); n > 0 && equalFold("key", name[n:]) {
			name = name[:n]
		}
		if publicLetters[len(name)&15]>>(name[0]&31)&1 == 0 {
			continue
		}
		for _, public := range &publicParts {
			if public[0] == name[0]|0x20 && equalFold(public, name) {
				return public != "id" || from < start+7 || isLetterByte(text[from-1]) || !equalFold("secret", text[from-7:from-1])
			}
		}
	}
	return false
}

// pairs lists pairs of words that name a subject only together. At most three bytes may be between the two words.
var pairs = []struct {
	first, second string
	subject       context
}{
	{"social", "security", aboutSSN}, {"my", "social", aboutSSN}, {"my", "license", aboutDocument}, {"my", "licence", aboutDocument}, {"business", "number", aboutAustralia}, {"financial", "security", aboutArticle}, {"social", "number", aboutSSN}, {"soc", "sec", aboutSSN}, {"ro", "fiscal", aboutTax}, {"social", "insurance", aboutCanada}, {"national", "insurance", aboutBritain},
	{"tax", "file", aboutAustralia}, {"tax", "code", aboutTax}, {"taxpayer", "registration", aboutTax}, {"tax", "id", aboutTax}, {"tax", "number", aboutTax}, {"tax", "identification", aboutTax},
	{"national", "id", aboutID | aboutDocument}, {"identity", "number", aboutID | aboutDocument}, {"identity", "card", aboutID | aboutDocument}, {"id", "number", aboutID},
	{"personal", "number", aboutID}, {"identification", "number", aboutID}, {"national", "identification", aboutID | aboutDocument}, {"national", "identity", aboutID | aboutDocument},
	{"personal", "id", aboutID}, {"identity", "document", aboutID | aboutDocument}, {"citizen", "id", aboutID | aboutDocument}, {"id", "card", aboutID | aboutDocument},
	{"sa", "id", aboutSouthAfrica}, {"rsa", "id", aboutSouthAfrica}, {"african", "id", aboutSouthAfrica}, {"identity", "no", aboutID},
	{"resident", "registration", aboutKorea}, {"my", "number", aboutJapan | aboutPhone}, {"thai", "id", aboutThailand},
	{"ni", "number", aboutBritain}, {"insurance", "number", aboutBritain | aboutCanada}, {"ni", "no", aboutBritain},
	{"sv", "nummer", aboutAustria}, {"sv", "nr", aboutAustria}, {"numeric", "personal", aboutRomania}, {"birth", "number", aboutCzechia},
	{"personal", "code", aboutEstonia}, {"israeli", "id", aboutIsrael | aboutID}, {"israel", "id", aboutIsrael | aboutID}, {"taiwan", "id", aboutTaiwan | aboutID},
	{"hong", "kong", aboutHongKong}, {"hk", "id", aboutHongKong}, {"german", "tax", aboutGermany | aboutTax}, {"indian", "id", aboutIndia | aboutID},
	{"identity", "code", aboutEstonia | aboutID}, {"citizen", "number", aboutID}, {"national", "number", aboutID | aboutBelgium}, {"nino", "number", aboutBritain},
	{"nhs", "number", aboutHealth}, {"patient", "number", aboutHealth}, {"medicare", "number", aboutAustralia}, {"tax", "no", aboutTax}, {"fiscal", "number", aboutTax},
	{"mobile", "number", aboutPhone}, {"mobile", "no", aboutPhone}, {"phone", "no", aboutPhone}, {"cell", "number", aboutPhone}, {"whatsapp", "number", aboutPhone}, {"phone", "number", aboutPhone}, {"contact", "number", aboutPhone}, {"reach", "me", aboutPhone},
	{"text", "me", aboutPhone}, {"ring", "me", aboutPhone},
	{"api", "key", aboutSecret}, {"access", "key", aboutSecret}, {"secret", "key", aboutSecret}, {"private", "key", aboutSecret},
	{"account", "key", aboutSecret}, {"auth", "key", aboutSecret}, {"encryption", "key", aboutSecret}, {"signing", "key", aboutSecret},
	{"shared", "key", aboutSecret}, {"storage", "key", aboutSecret}, {"license", "key", aboutSecret}, {"app", "key", aboutSecret},
	{"application", "key", aboutSecret}, {"service", "key", aboutSecret}, {"master", "key", aboutSecret}, {"x-api", "key", aboutSecret},
	{"heroku", "key", aboutSecret}, {"hubspot", "key", aboutSecret}, {"snyk", "key", aboutSecret}, {"sonar", "login", aboutSecret},
	{"dd", "api", aboutDatadog}, {"dd", "app", aboutDatadog}, {"cf", "api", aboutCloudflare},
	{"identified", "by", aboutSecret | aboutPassword}, {"password", "by", aboutSecret | aboutPassword}, {"unseal", "key", aboutSecret}, {"activation", "key", aboutSecret}, {"product", "key", aboutSecret}, {"serial", "key", aboutSecret},
	{"sort", "code", aboutRouting}, {"bank", "account", aboutBank}, {"account", "number", aboutBank}, {"account", "no", aboutBank},
	{"conto", "corrente", aboutBank}, {"checking", "account", aboutBank}, {"savings", "account", aboutBank},
	{"um", "tarihi", aboutBirth}, {"syntym", "aika", aboutBirth},
	{"health", "insurance", aboutDocument}, {"voter", "id", aboutDocument}, {"voter", "card", aboutDocument},
	{"driver", "license", aboutDocument}, {"drivers", "license", aboutDocument}, {"driver", "licence", aboutDocument}, {"drivers", "licence", aboutDocument},
	{"driving", "license", aboutDocument}, {"driving", "licence", aboutDocument}, {"license", "number", aboutDocument}, {"licence", "number", aboutDocument},
	{"travel", "document", aboutPassport}, {"pass", "nr", aboutPassport}, {"provider", "identifier", aboutHealth}, {"provider", "number", aboutHealth},
	{"resident", "number", aboutID}, {"st", "nr", aboutTax}, {"curit", "sociale", aboutFrance}, {"securite", "sociale", aboutFrance},
	{"call", "me", aboutPhone},
	{"medical", "record", aboutDocument}, {"member", "id", aboutDocument}, {"member", "number", aboutDocument}, {"policy", "number", aboutDocument},
	{"policy", "no", aboutDocument}, {"patient", "id", aboutDocument}, {"insurance", "id", aboutDocument}, {"subscriber", "id", aboutDocument},
	{"health", "plan", aboutDocument}, {"health", "card", aboutDocument}, {"beneficiary", "number", aboutDocument}, {"green", "card", aboutDocument},
	{"alien", "number", aboutDocument}, {"ghana", "card", aboutDocument}, {"personas", "kods", aboutDocument}, {"civil", "id", aboutDocument}, {"seguridad", "social", aboutDocument},
	{"identity", "codes", aboutID}, {"personal", "identity", aboutID}, {"personal", "identification", aboutID}, {"person", "id", aboutID | aboutDocument}, {"identification", "card", aboutID | aboutDocument},
	{"national", "identifier", aboutID | aboutDocument}, {"tax", "identifier", aboutTax}, {"taxpayer", "reference", aboutTax},
}

// entry is the meaning of a word in the vocabulary. In tables.go, words with the same meaning share an entry.
type entry struct {
	subject context
	phrases uint32 // the injection phrases that begin with the word, as bits
	pair    bool   // it begins or ends a pair
}

// wordPair is a pair of words with the number of the pair's entry. A word's number is its position in wordText.
type wordPair struct {
	first, second uint16
	entry         uint8
}

func bucketOf(first, second byte) int { return int(first&31)<<5 | int(second&31) }

// unanchored is the bucket for token formats without a literal prefix of two bytes.
const unanchored = 1024

// wordBucket returns the bucket of a word. There are 256 buckets.
func wordBucket(first, second byte) int { return bucketOf(first, second) >> 2 }

const (
	hashFactor = 0x9e3779b1
	hashShift  = 17
)

// hash returns 15 bits. It makes them from a word's length and its first two, middle and last letters. The case of
// the letters does not matter.
func hash(word []byte) uint32 {
	n := len(word)
	return hashOf(uint32(word[0])|uint32(word[1])<<8, word[n/2], word[n-1], n)
}

// hashOf returns the hash of a word of n letters. The two lowest bytes of first are its first two letters.
func hashOf(first uint32, middle, last byte, n int) uint32 {
	return (first&0x1f1f | uint32(middle&31)<<16 | uint32(last&31)<<21 | uint32(n)<<26) * hashFactor >> hashShift
}

// innerHash returns 15 other bits. It makes them from other letters of the word.
func innerHash(word []byte) uint32 {
	n := len(word)
	h := uint32(word[n/3]&31) | uint32(word[n-2]&31)<<5 | uint32(word[0]&31)<<10 | uint32(n&31)<<15
	return ^h * hashFactor >> hashShift
}

// isLikely reports whether a word of at least two letters may be in the vocabulary. For words that are not in the
// vocabulary, it is wrong about once in two hundred words of this repository's documents. The first look at the
// filter rejects 96 of 100 such words.
func isLikely(word []byte) bool {
	h := hash(word)
	return likely[h>>5]>>(h&31)&1 == 1 && isLikelyInside(word)
}

// isLikelyInside takes the second look at the filter. It is a separate function, so the first look can be inlined.
//
//go:noinline
func isLikelyInside(word []byte) bool {
	h := innerHash(word)
	return likely[h>>5]>>(h&31)&1 == 1
}

// lookUp returns the vocabulary's entry for a word, and the word's number. The word consists of ASCII letters and
// digits, in any case. If the word is not in the vocabulary, the entry is nil.
func lookUp(word []byte) (e *entry, number int) {
	if len(word) < 2 {
		return nil, 0
	}
	if h := hash(word); likely[h>>5]>>(h&31)&1 == 0 {
		return nil, 0
	}
	bucket := wordBucket(word[0], word[1])
	for at := int(buckets[bucket]); at < int(buckets[bucket+1]); {
		n := int(wordText[at])
		if n > len(word) {
			break // the words in a bucket are in order of length
		}
		end := at + 1 + n
		if n == len(word) && wordText[end-1] == word[n-1]|0x20 && equalFold(wordText[at+1:end], word) {
			return &entries[wordText[end]], at
		}
		at = end + 1
	}
	return nil, 0
}

// equalFold reports whether a word equals a lowercase string. The case of the word does not matter.
func equalFold(lower string, word []byte) bool {
	if len(lower) != len(word) {
		return false
	}
	for i, b := range word {
		if class[b]&isUpper != 0 {
			b |= 0x20
		}
		if b != lower[i] {
			return false
		}
	}
	return true
}

// pairSubject returns the subject of two consecutive words. first and second are the numbers of the words.
func pairSubject(first, second int) context {
	for i := range wordPairs {
		if p := &wordPairs[i]; int(p.first) == first && int(p.second) == second {
			return entries[p.entry].subject
		}
	}
	return 0
}
