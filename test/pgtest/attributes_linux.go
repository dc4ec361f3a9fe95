package pgtest

import "syscall"

// attributes makes a process end with this one, even if this one is killed.
func attributes(credential *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: credential, Pdeathsig: syscall.SIGQUIT, Setpgid: true}
}
