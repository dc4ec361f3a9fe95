// The Go programs of a run: the upstream and the data centers' caches.
import { join } from 'node:path'
import { firstLine, OUT, output, start } from './process.mjs'

/** Builds programs of bench/ into build/bench. */
export async function build(...names) {
  for (const name of names) await output('go', ['build', '-o', join(OUT, name), `./bench/${name}`])
}

/** Starts a program that prints its port. */
export async function printing(program, ...args) {
  const child = start(join(OUT, program), args, { stdout: 'pipe' })
  return { child, url: `http://127.0.0.1:${await firstLine(child, child.stdout)}` }
}

export const startUpstream = () => printing('upstream')
export const startColo = () => printing('colo')
