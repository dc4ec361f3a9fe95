// Runs the test bundle in Miniflare, with the control Worker if it has been built.
//
//   node worker/gateway/test/serve.mjs [--bundle] [--port N] [--env-file FILE.json] [--persist FOLDER] [NAME=VALUE ...]
//
// The pairs are the deployment's variables and secrets. The folder stores KV and the objects. Without a folder, they
// are lost when the server ends. The program prints `ready http://127.0.0.1:PORT` and runs until standard input ends.
// It requires build/core-panic.wasm. If a source is newer than the bundle, it bundles the Worker. With --bundle, it
// does only that. If several servers start at the same time, run it with --bundle before.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from 'miniflare'
import { compatibilityDate, compatibilityFlags } from '../compatibility.mjs'

const root = resolve(import.meta.dirname, '../../..')
const bundle = join(root, 'build/gateway-test')
const moduleTypes = { js: 'ESModule', mjs: 'ESModule', wasm: 'CompiledWasm', bin: 'Data' }
const classes = { KEY_METER: 'KeyMeter', LEDGER: 'Ledger', DIRECTORY: 'Directory' }

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    bundle: { type: 'boolean' },
    port: { type: 'string', default: '0' },
    'env-file': { type: 'string' },
    persist: { type: 'string' },
  },
})
const env = { ...fileEnv(values['env-file']), ...Object.fromEntries(positionals.map(pair)) }

function fileEnv(file) {
  return file === undefined ? {} : JSON.parse(readFileSync(file, 'utf8'))
}

function pair(text) {
  const at = text.indexOf('=')
  return [text.slice(0, at), text.slice(at + 1)]
}

function newestMs(...paths) {
  const files = paths.flatMap((path) =>
    statSync(path).isDirectory() ? readdirSync(path).map((name) => join(path, name)) : [path],
  )
  return Math.max(...files.map((file) => statSync(file).mtimeMs))
}

// This replaces a build step: tests never run an old bundle.
function bundleIfStale() {
  const sources = ['worker/gateway/src', 'worker/gateway/test', 'build/core-panic.wasm', 'core/catalog/catalog.bin']
  const newest = newestMs(...sources.map((path) => join(root, path)))
  if (existsSync(join(bundle, 'entry.js')) && statSync(join(bundle, 'entry.js')).mtimeMs > newest) return
  const config = join(root, 'worker/gateway/test/wrangler.toml')
  execFileSync(join(root, 'node_modules/.bin/wrangler'), ['deploy', '--dry-run', '--outdir', bundle, '-c', config], {
    cwd: root,
    env: { ...process.env, WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

// The modules of the bundle. Their names start with a hash, because the directory may contain modules of older
// bundles.
function bundled() {
  const entry = readFileSync(join(bundle, 'entry.js'), 'utf8')
  const names = readdirSync(bundle).filter((name) => name === 'entry.js' || entry.includes(`./${name}`))
  return modules(['entry.js', ...names.filter((name) => name !== 'entry.js')].map((name) => join(bundle, name)))
}

function modules(paths) {
  return paths.map((path) => ({ type: moduleTypes[path.slice(path.lastIndexOf('.') + 1)], path }))
}

function objects(extra) {
  return Object.fromEntries(Object.entries(classes).map(([name, className]) => [name, { className, ...extra }]))
}

function gateway(withControl) {
  const { POSTERN_ADMIN_TOKEN: _, ...bindings } = env
  return {
    name: 'postern',
    compatibilityDate,
    compatibilityFlags,
    modules: bundled(),
    modulesRoot: bundle,
    bindings,
    kvNamespaces: { KV: 'postern' },
    durableObjects: objects({ useSQLite: true }),
    serviceBindings: withControl ? { CONTROL: 'postern-control' } : {},
  }
}

function control() {
  const files = [
    'worker/gateway/test/control.mjs',
    'worker/control/entry.mjs',
    'worker/control/address.mjs',
    'worker/control/unavailable.mjs',
    'build/control/wasm_exec.js',
    'build/control/app.wasm',
  ]
  return {
    name: 'postern-control',
    compatibilityDate,
    modules: modules(files.map((file) => join(root, file))),
    modulesRoot: root,
    bindings: env,
    durableObjects: objects({ scriptName: 'postern', useSQLite: true }),
    // As in worker/control/wrangler.toml.
    assets: {
      directory: join(root, 'build/control/assets'),
      binding: 'ASSETS',
      run_worker_first: true,
      routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: true },
      assetConfig: { html_handling: 'none', not_found_handling: 'none' },
    },
  }
}

bundleIfStale()
if (values.bundle) process.exit(0)
const withControl = existsSync(join(root, 'build/control/app.wasm'))
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    port: Number(values.port),
    log: new Log(LogLevel.WARN),
    cf: false,
    resourcePersistencePath: values.persist,
    workers: withControl ? [gateway(true), control()] : [gateway(false)],
  }),
)
const url = await miniflare.ready
console.log(`ready http://127.0.0.1:${url.port}`)

process.stdin.resume()
process.stdin.on('end', () => miniflare.dispose().then(() => process.exit(0)))
