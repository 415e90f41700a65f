package policy

import (
	"slices"
	"strings"

	"sunaba/internal/pattern"
)

var variableName = pattern.Lazy(`^[A-Za-z_][A-Za-z0-9_]*$`)

// codeLoading are variables that make a program run code of someone's choice
// at its start, or that change how it is loaded (SD-21).
var codeLoading = []string{
	"BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "PS4", "PROMPT_COMMAND", "IFS", "ZDOTDIR",
	"GCONV_PATH", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES", "HOSTALIASES", "RESOLV_HOST_CONF",
	"PYTHONSTARTUP", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT",
	"PERL5OPT", "PERL5DB", "RUBYOPT", "NODE_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
	"JDK_JAVA_OPTIONS", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_ASKPASS",
	"GIT_EXEC_PATH", "GIT_PROXY_COMMAND",
}

// credentialParts are words that the names of secrets hold. EXEC-005: newer
// names follow the old pattern with something appended, hence anywhere.
var credentialParts = []string{
	"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "COOKIE",
	"PRIVATE_KEY", "ACCESS_KEY", "AUTH_SOCK", "AUTHORIZATION",
}

// judgeVariable returns the reason why v may not be set, "" when it may.
func judgeVariable(v Variable) string {
	name := strings.ToUpper(v.Name)
	words := strings.Split(name, "_")
	isWord := func(w string) bool { return slices.Contains(words, w) }
	switch {
	case !variableName().MatchString(v.Name):
		return "environment_name"
	case strings.ContainsRune(v.Value, 0):
		return "environment_value"
	case strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"), strings.HasPrefix(name, "MALLOC_"),
		slices.Contains(codeLoading, name):
		return "environment_loader"
	case strings.HasSuffix(name, "KEY"), strings.HasSuffix(name, "KEYS"), isWord("KEY"), isWord("KEYS"),
		isWord("AUTH"), isWord("PAT"), isWord("PWD") && len(words) > 1,
		slices.ContainsFunc(credentialParts, func(p string) bool { return strings.Contains(name, p) }):
		return "environment_credential"
	}
	return ""
}
