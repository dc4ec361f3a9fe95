// The servers that bench/selfhosted.mjs compares, in front of the same upstream.
import { mkdirSync, openSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { BENCH, firstLine, OUT, output, ROOT, start } from '../process.mjs'

export const ADMIN_TOKEN = 'bench-admin-token-0123456789abcdef'
const KEYS = 64
const START_TIMEOUT_MS = 30_000
const POLL_MS = 2

/**
 * Builds the programs except build/postern, which `./build.sh postern` builds because the wasm engine needs the
 * embedded core.
 */
export async function build() {
  const programs = {
    upstream: './bench/upstream',
    reverseproxy: './bench/reverseproxy',
    client: './bench/client',
    postgres: './test/pgserver',
  }
  for (const [name, folder] of Object.entries(programs)) await output('go', ['build', '-o', join(OUT, name), folder])
}

/** Runs poll until it returns a value. */
async function until(child, poll) {
  for (const end = performance.now() + START_TIMEOUT_MS; performance.now() < end; await sleep(POLL_MS)) {
    const value = await poll()
    if (value) return value
    if (child.exitCode !== null) throw new Error(`${child.spawnargs.join(' ')} exited with ${child.exitCode}`)
  }
  throw new Error(`${child.spawnargs.join(' ')} did not start`)
}

/** A program that prints its port. */
async function printing(program, ...args) {
  const child = start(join(OUT, program), args, { stdout: 'pipe' })
  return { child, url: `http://127.0.0.1:${await firstLine(child, child.stdout)}`, key: 'none', headers: '' }
}

export const startUpstream = () => printing('upstream')

/** A reverse proxy. kind is "blocks" or "events"; see bench/reverseproxy. */
export const startReverseProxy = (upstream, kind = 'blocks') => printing('reverseproxy', upstream.url, kind)

/** A PostgreSQL server that waits for the disk, with an empty database. */
export async function startPostgres() {
  const child = start(join(OUT, 'postgres'), [], { stdout: 'pipe' })
  const [url, version] = (await firstLine(child, child.stdout)).split(' ')
  return { child, url, version }
}

/**
 * Postern with everything enabled. Log lines go to a file, and the second listener serves the metrics. keep leaves the
 * data of an earlier start with the same name in place.
 */
export async function startPostern(name, upstream, args = [], variables = {}, keep = false) {
  const data = join(OUT, `data-${name}`)
  if (!keep) rmSync(data, { recursive: true, force: true })
  mkdirSync(data, { recursive: true, mode: 0o700 })
  const log = join(OUT, `${name}.log`)
  const file = openSync(log, 'w')
  const flags = ['serve', '--data', data, '--listen', '127.0.0.1:0', '--ops-listen', '127.0.0.1:0', ...args]
  const env = {
    ...process.env,
    ...variables,
    OPENAI_BASE_URL: `${upstream.url}/v1`,
    OPENAI_API_KEY: 'sk-bench',
    POSTERN_ADMIN_TOKEN: ADMIN_TOKEN,
  }
  const child = start(join(ROOT, 'build/postern'), flags, { stdout: file, stderr: file, env })
  const ready = /^Postern is ready on (\S+)/m
  const url = await until(child, () => readFileSync(log, 'utf8').match(ready)?.[1])
  return { child, url, data, headers: '' }
}

/**
 * Creates a project with every check enabled, and its keys, through the admin API. A cache time of 0 seconds turns the
 * cache off.
 */
export async function seed(postern, { cacheTtlSeconds = 3600 } = {}) {
  const admin = async (method, path, body) => {
    const headers = { authorization: `Bearer ${ADMIN_TOKEN}`, 'content-type': 'application/json' }
    const response = await fetch(`${postern.url}/api/admin/${path}`, { method, headers, body: JSON.stringify(body) })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  const project = await admin('POST', 'projects', {
    name: 'bench',
    plan: 'unlimited',
    budget: 1_000_000,
    cacheTtlSeconds,
  })
  await admin('PUT', `projects/${project.id}/governor`, { enabled: true, version: project.version })
  postern.keys = []
  for (let i = 0; i < KEYS; i++) {
    const created = await admin('POST', `projects/${project.id}/keys`, {
      name: `bench ${i}`,
      environment: 'production',
    })
    postern.keys.push(created.value)
  }
  postern.key = postern.keys[0]
  return postern
}

/** A free port. If another program takes it before the server does, the start fails. */
export function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })
}

/** The headers that make Portkey's gateway call the upstream, for load.lua. */
export const portkeyHeaders = (upstreamURL) =>
  `authorization=Bearer sk-bench;x-portkey-provider=openai;x-portkey-custom-host=${upstreamURL}/v1`

/** Portkey's gateway as it ships. Its errors are figures in the table. */
export async function startPortkey(upstream) {
  const port = await freePort()
  const script = join(BENCH, 'portkey/node_modules/@portkey-ai/gateway/build/start-server.js')
  const child = start(process.execPath, [script, `--port=${port}`, '--headless'], {
    env: { ...process.env, NODE_ENV: 'production' },
  })
  const url = `http://127.0.0.1:${port}`
  await until(child, () =>
    fetch(url).then(
      (response) => response.ok,
      () => false,
    ),
  )
  return { child, url, key: 'none', headers: portkeyHeaders(upstream.url), peer: true }
}
