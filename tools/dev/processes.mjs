// The processes of this machine.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'

/**
 * All processes as [{pid, group, command}]. command includes arguments. Not every Linux has `ps`, so /proc is used
 * there.
 */
export function processes() {
  return existsSync('/proc/self/stat') ? fromProc() : fromPs()
}

function fromProc() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
        // The name in parentheses may contain any character. It is followed by state, parent and group.
        const [, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
        const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')
        return [{ pid: Number(pid), group: Number(group), command }]
      } catch {
        return [] // The process has exited.
      }
    })
}

function fromPs() {
  return execFileSync('ps', ['-Aww', '-o', 'pid=,pgid=,command='], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => {
      const [, pid, group, command] = /^ *(\d+) +(\d+) (.*)$/.exec(line) ?? []
      return pid ? [{ pid: Number(pid), group: Number(group), command }] : []
    })
}

/** Reports whether a process exists and belongs to this user. */
export function isAlive(pid) {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Sends a signal to all processes of a group. */
export function signalGroup(group, signal) {
  try {
    process.kill(-group, signal)
  } catch {
    // Every process of the group has exited.
  }
}
