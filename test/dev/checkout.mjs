// A separate checkout for `make dev`, so that the tests do not change a developer's keys and state.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { processes } from '../../tools/dev/processes.mjs'
import { until } from '../browser/service.mjs'
import { ROOT } from '../browser/workers.mjs'
import { freePort } from '../serve.mjs'

const SCRIPTS = ['tools/dev.mjs', 'tools/dev', 'core/catalog/catalog.json']
const WORKERS = ['wrangler.toml', 'worker', 'core/catalog/catalog.bin', 'build/core.wasm', 'build/control']
// Replaces the build, whose outputs already exist. It waits while the file `hold` exists.
const BUILD = '#!/bin/sh\nif [ -e hold ]; then touch held; fi\nwhile [ -e hold ]; do sleep 0.1; done\n'
const START_TIMEOUT_MS = 180_000
const READY = /^(?:Postern is ready|dev: ready again) on /gm

export class Checkout {
  #folder = mkdtempSync(join(tmpdir(), 'postern-dev-'))
  #running

  /** @param {{wrangler?: string}} options the source of a fake wrangler */
  constructor({ wrangler } = {}) {
    process.on('exit', () => {
      this.#running?.kill('SIGTERM')
      rmSync(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 })
    })
    for (const path of [...SCRIPTS, ...(wrangler ? [] : WORKERS)]) {
      cpSync(join(ROOT, path), this.path(path), { recursive: true })
    }
    rmSync(this.path('worker/control/.dev.vars'), { force: true })
    writeFileSync(this.path('build.sh'), BUILD, { mode: 0o755 })
    if (wrangler) this.write('node_modules/wrangler/bin/wrangler.js', wrangler)
    else symlinkSync(join(ROOT, 'node_modules'), this.path('node_modules'))
    mkdirSync(this.path('worker/control'), { recursive: true })
  }

  path(name) {
    return join(this.#folder, name)
  }

  has(name) {
    return existsSync(this.path(name))
  }

  write(name, text) {
    mkdirSync(dirname(this.path(name)), { recursive: true })
    writeFileSync(this.path(name), text)
  }

  remove(name) {
    rmSync(this.path(name), { recursive: true, force: true })
  }

  keys() {
    return JSON.parse(readFileSync(this.path('.dev/keys.json'), 'utf8'))
  }

  /** Makes the next build, and therefore the next start, wait for release(). */
  hold() {
    this.remove('held')
    this.write('hold', '')
  }

  async held() {
    await until('wrangler builds', () => this.has('held'), START_TIMEOUT_MS)
  }

  release() {
    this.remove('hold')
  }

  /** Starts `make dev` on a port, by default a free one. */
  async start({ port, env } = {}) {
    const on = port ?? (await freePort())
    const dev = new Dev(this, on, env)
    this.#running ??= dev
    dev.ended.then(() => {
      if (this.#running === dev) this.#running = undefined
    })
    return dev
  }
}

class Dev {
  #checkout
  #child
  #output = ''
  #errors = ''

  constructor(checkout, port, env) {
    this.#checkout = checkout
    this.port = port
    this.#child = spawn(process.execPath, [checkout.path('tools/dev.mjs')], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env, POSTERN_PORT: String(port) },
    })
    this.#child.stdout.on('data', (chunk) => (this.#output += chunk))
    this.#child.stderr.on('data', (chunk) => (this.#errors += chunk))
    this.ended = once(this.#child, 'close').then(([code]) => ({ code, errors: this.#errors }))
  }

  get output() {
    return this.#output
  }

  /** Waits until its output has reported readiness `times` times, and returns the keys. */
  async ready(times = 1) {
    const ready = () => (this.#output.match(READY) ?? []).length >= times
    const ended = this.ended.then(({ errors }) =>
      Promise.reject(new Error(`make dev exited:\n${this.#output}${errors}`)),
    )
    await Promise.race([until(`ready ${times} times`, ready, START_TIMEOUT_MS), ended])
    return this.#checkout.keys()
  }

  /** Waits until its output contains a string. */
  async prints(text) {
    await until(`output ${text}`, () => this.#output.includes(text), START_TIMEOUT_MS)
  }

  kill(signal) {
    this.#child.kill(signal)
  }

  async stop(signal) {
    this.kill(signal)
    return this.ended
  }

  /** wrangler and the processes that it started: [{pid, group, command}]. */
  processes() {
    const all = processes()
    const wrangler = all.find(({ command }) => command.includes(`--env-file=${this.#checkout.path('.dev/')}`))
    return wrangler ? all.filter(({ group }) => group === wrangler.group) : []
  }
}
