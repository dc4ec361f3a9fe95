package governor

import "bytes"

// placeholders lists strings in lower case. If a value contains one, it is only a placeholder.
var placeholders = []string{"your", "example", "changeme", "placeholder", "redacted", "xxxx", "****", "....", "<", "${", "{{", "$(", "process.env", "insert", "dummy", "replace", "sample", "{}", "{0", "••", "…", `\d`, `\w`, "[a-z", "[0-9", "(?:", "!vault", "vault:", "arn:aws"}

// wrappers lists the beginnings, in lower case, of values that are encrypted or stored elsewhere. They occur in the
// files of Jasypt, MuleSoft, hiera-eyaml, SOPS, Spring Cloud Config, dotenvx, Azure App Service, Chef and Serverless.
// Sources: http://www.jasypt.org/encrypting-configuration.html, https://github.com/voxpupuli/hiera-eyaml,
// https://getsops.io/docs/, https://dotenvx.com/docs,
// https://learn.microsoft.com/azure/app-service/app-service-key-vault-references
var wrappers = []string{"enc(", "enc[", "enc:", "encrypted:", "encrypted(", "crypt(", "cipher:", "@microsoft.keyvault(", "ssm:", "kms:", "env:", "file:", "#{"}

// isPlaceholder reports whether a value is only a placeholder. The real value is filled in later or stored elsewhere.
func isPlaceholder(value []byte) bool {
	switch value[0] {
	case '$':
		return !isChosen(value) || isVariable(value)
	case '%', '<', '{', '[', '*':
		return true
	}
	for _, p := range placeholders {
		if containsFold(value, p) {
			return true
		}
	}
	for _, p := range wrappers {
		if len(value) > len(p) && equalFold(p, value[:len(p)]) {
			return true
		}
	}
	return changes(value)*5 < len(value) && (containsFold(value, "fake") || containsFold(value, "todo")) // random text may have them
}

// isVariable reports whether a value begins with a variable of a shell or template: $DB_PASSWORD2, $user:$pass2. The
// value begins with a dollar sign.
func isVariable(value []byte) bool {
	i := 1
	for i < len(value) && class[value[i]]&inWord != 0 {
		i++
	}
	switch {
	case i == len(value) || oneOf(value[1], "{($"):
		return true
	case i == 1 || value[i] == '$' && i+1 < len(value) && isDigitByte(value[i+1]):
		return false
	}
	return !oneOf(value[i], "!@#%^&*?~")
}

// isNameOfPassword reports whether a value is just a word for a password, as in user:pass@localhost.
func isNameOfPassword(value []byte) bool {
	for _, name := range [...]string{"pass", "password", "passwd", "pwd", "secret", "pw", "bar"} {
		if equalFold(name, value) {
			return true
		}
	}
	return false
}

// isWeak reports whether a URL's password is a placeholder, or is the same as the user's name.
func isWeak(user, password []byte) bool {
	return isPlaceholder(password) || isNameOfPassword(password) || bytes.Equal(user, password) || runs(password) && len(password) < 5 ||
		containsFold(password, "password") && !isPassword(password) || bytes.Contains(password, []byte(".*")) || bytes.Contains(password, []byte(".+"))
}

// isOnlyUser reports whether a URL's password shows that the secret is in the place of the user's name. Git hosts
// accept a token in this form. Source: https://docs.github.com/en/get-started/git-basics/about-remote-repositories
func isOnlyUser(password []byte) bool {
	return len(password) == 0 || isNameOfPassword(password) || equalFold("x-oauth-basic", password) || equalFold("x", password)
}

// isMessageName reports whether a value is the key of a text in a message catalog, such as error.password.min8.
func isMessageName(value []byte) bool {
	if !isMember(value) {
		return false
	}
	for _, name := range [...]string{"password.", ".password", "error.", "errors.", "label.", "message.", "form.", "validation."} {
		if containsFold(value, name) {
			return true
		}
	}
	return false
}
