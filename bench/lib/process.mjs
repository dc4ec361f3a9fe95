// Child processes, which stop when this process stops.
import { execFile, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))))
export const BENCH = join(ROOT, 'bench')
export const OUT = join(ROOT, 'build/bench')

// The unit of CPU time in /proc (USER_HZ): 100 per second on every Linux that Node supports.
const TICKS_PER_SECOND = 100
const STOP_TIMEOUT_MS = 5_000

/** Runs a command to its end and returns what it printed. */
export async function output(command, args, input) {
  const running = promisify(execFile)(command, args, { cwd: ROOT, maxBuffer: 64 << 20 })
  if (input !== undefined) running.child.stdin.end(input)
  return (await running).stdout
}

const children = new Set()

/** Starts a process that runs until stop(child). If control is set, its file descriptor 3 can be read. */
export function start(command, args, { control = false, stdout = 'ignore', stderr = 'inherit', env } = {}) {
  const stdio = ['ignore', stdout, stderr]
  if (control) stdio.push('pipe')
  const child = spawn(command, args, { cwd: ROOT, stdio, env })
  children.add(child)
  child.exited = new Promise((resolve) => child.once('exit', resolve))
  child.exited.then(() => children.delete(child))
  return child
}

/** The first line of a stream, or an error if the child exits before it. */
export function firstLine(child, stream) {
  return new Promise((resolve, reject) => {
    createInterface({ input: stream }).once('line', resolve)
    child.exited.then((code) => reject(new Error(`${child.spawnargs[0]} exited with ${code}`)))
    child.once('error', reject)
  })
}

export async function stop(child) {
  child.kill()
  const killer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
  await child.exited
  clearTimeout(killer)
}

process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL')
})

/**
 * A field of /proc/PID/status, converted from kilobytes to bytes. VmRSS is the memory in use, and VmHWM is its
 * maximum so far. Linux only.
 */
export function memoryBytes({ pid }, name) {
  const [, kilobytes] = readFileSync(`/proc/${pid}/status`, 'utf8').match(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm'))
  return Number(kilobytes) * 1024
}

/** The CPU seconds that all threads of a process have used so far, in user mode and in the kernel. Linux only. */
export function cpuSeconds({ pid }) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  // The fields after the name. The name may contain spaces. The first field after it is the state, which is the third
  // field of the line.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}
