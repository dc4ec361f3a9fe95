// Builds a release of the checked-out commit into build/release: node tools/release/main.mjs [--verify]
// `make release` runs it, with the tools in PATH.
//
// VERSION replaces the version from the tag. --verify builds the commit again, in a clone in another folder, and
// fails if any file differs.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SHIPPED } from '../../site/shipped.mjs'
import { CHECKSUMS, differences, pack, unpack, writeChecksums } from './archive.mjs'
import { notices } from './notices.mjs'
import * as sbom from './sbom.mjs'
import { checkChangelog, checkVersion, dockerfile, PLATFORMS } from './version.mjs'

const ROOT = join(import.meta.dirname, '../..')
const OUT = join(ROOT, 'build/release')
const WORK = join(ROOT, 'build/release.work')
const GENERATED = ['build/core.wasm', 'server/corewasm/core.wasm'] // rebuilt, whatever their age
/** Folders in which everything is rebuilt, except files in git. */
const BUILT = ['control/web/dist', 'control/web/docsite']
const SITE = ['build/docs', 'build/docs.json']

const read = (...names) => readFileSync(join(ROOT, ...names), 'utf8')
const output = (command, ...args) => execFileSync(command, args, { cwd: ROOT, encoding: 'utf8' }).trim()
const run = (command, args, env) =>
  execFileSync(command, args, { cwd: ROOT, stdio: ['ignore', 2, 2], env: { ...process.env, ...env } })

/** Returns the version and the time of the commit. Throws if the checkout has changes. */
function identify() {
  const changes = output('git', 'status', '--porcelain')
  if (changes !== '') throw new Error(`commit or remove these first:\n${changes}`)
  const described = output('git', 'describe', '--tags', '--match', 'v[0-9]*', '--always', '--abbrev=12')
  const version = checkVersion(process.env.VERSION || described)
  checkChangelog(version, read('CHANGELOG.md'))
  return { version, epoch: Number(output('git', 'log', '-1', '--format=%ct')) }
}

function clear() {
  for (const folder of [OUT, WORK]) {
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true })
  }
  for (const file of [...GENERATED, ...SITE]) rmSync(join(ROOT, file), { recursive: true, force: true })
  for (const folder of BUILT) {
    for (const name of readdirSync(join(ROOT, folder)))
      if (name !== '.gitkeep') rmSync(join(ROOT, folder, name), { recursive: true })
  }
}

/** Compiles `postern` for all platforms and returns the paths of the binaries. */
function compile(version) {
  run('./build.sh', ['core']) // this also builds the tools that this machine needs
  run('./build.sh', ['docs'])
  return PLATFORMS.map(({ os, arch }) => {
    const binary = join(WORK, `postern-${version}-${os}-${arch}`, 'postern')
    mkdirSync(join(binary, '..'))
    // Go's own commit stamp depends on the tags in a clone.
    run('./build.sh', ['postern'], {
      VERSION: version,
      GOOS: os,
      GOARCH: arch,
      OUT: binary,
      GOFLAGS: '-buildvcs=false',
    })
    return binary
  })
}

/** Writes the bill of materials and returns the paths of the Go modules in it. */
function describe(binaries, version, epoch) {
  const tool = join(ROOT, '.tools/bin/cyclonedx-gomod')
  const lists = binaries.map((binary) => sbom.modulesOf(tool, binary, version))
  const bundled = [...read('control/web/dist/licenses.txt').matchAll(/(?:^|-{80}\n\n)(\S+) \d\S*\n/g)]
  const lock = JSON.parse(read('package-lock.json'))
  const tinygo = execFileSync('go', ['list', '-m', '-f', '{{.Version}}', 'github.com/tinygo-org/tinygo'], {
    cwd: join(ROOT, 'tools'),
    encoding: 'utf8',
  })
  const site = JSON.parse(read('site/package-lock.json'))
  const others = [
    ...bundled.map(([, name]) => sbom.npmComponent(lock, name)),
    ...Object.keys(SHIPPED).map((name) => sbom.npmComponent(site, name)),
    sbom.tinygoComponent(tinygo.trim()),
  ]
  const bill = sbom.join(lists, others, epoch)
  writeFileSync(join(OUT, `postern-${version}.cdx.json`), `${JSON.stringify(bill, null, 2)}\n`)
  return lists.flatMap((list) => list.components.map(({ name }) => name)).filter((name) => name !== 'std')
}

function archive(binaries, modules, epoch) {
  const bundled = [read('control/web/dist/licenses.txt'), read('build/docs/licenses.txt')].join('\n')
  const texts = notices(ROOT, [...new Set(modules)].sort(), bundled)
  for (const binary of binaries) {
    const folder = join(binary, '..')
    for (const name of ['LICENSE', 'README.md']) cpSync(join(ROOT, name), join(folder, name))
    writeFileSync(join(folder, 'THIRD_PARTY_LICENSES'), texts)
    const name = folder.slice(WORK.length + 1)
    pack(WORK, name, join(OUT, `${name}.tar.gz`), epoch)
  }
}

/** Packs the client libraries. A Python sdist contains build times, so it is repacked. */
function packClients(epoch) {
  const name = `postern-clients-${read('clients/VERSION').trim()}`
  const folder = join(WORK, name)
  mkdirSync(folder)
  run('node', ['clients/publish.mjs', '--pack', folder], { SOURCE_DATE_EPOCH: String(epoch) })
  const sdists = readdirSync(folder).filter((file) => file.endsWith('.tar.gz'))
  for (const sdist of sdists) {
    unpack(join(folder, sdist), WORK)
    pack(WORK, sdist.replace('.tar.gz', ''), join(folder, sdist), epoch)
  }
  pack(WORK, name, join(OUT, `${name}.tar.gz`), epoch)
}

/** Returns the versions of the tools that determine the bytes of a release. */
function toolchain() {
  const first = (...command) => output(...command).split('\n')[0]
  const python = 'import setuptools, wheel; print("setuptools", setuptools.__version__, "wheel", wheel.__version__)'
  return [
    output('go', 'env', 'GOVERSION'),
    output('tinygo', 'version'),
    first('wasm-opt', '--version'),
    `node ${process.version}`,
    `npm ${output('npm', '--version')}`,
    output('python3', '-c', python),
    first('tar', '--version'),
    first('gzip', '--version'),
  ].join('\n')
}

function release({ version, epoch }) {
  process.umask(0o022)
  clear()
  const binaries = compile(version)
  archive(binaries, describe(binaries, version, epoch), epoch)
  packClients(epoch)
  writeFileSync(join(OUT, 'Dockerfile'), dockerfile(read('deploy/release.Dockerfile'), version))
  writeFileSync(join(OUT, 'TOOLCHAIN'), `${toolchain()}\n`)
  writeChecksums(OUT)
  rmSync(WORK, { recursive: true })
  console.log(`build/release has ${version}:\n${read('build/release', CHECKSUMS)}`)
}

/**
 * Builds the commit again in a clone and compares the checksums. The clone shares the tools, which are pinned. It
 * does not share Go's cache, because the cache would return the results of the first build. npm's packages are
 * copied, because esbuild also names files by their paths and follows links.
 */
function verify({ version }) {
  const clone = mkdtempSync(join(tmpdir(), 'postern-release-'))
  try {
    run('git', ['clone', '--quiet', '--no-hardlinks', ROOT, clone])
    run('git', ['-C', clone, 'checkout', '--quiet', '--detach', output('git', 'rev-parse', 'HEAD')])
    writeFileSync(join(clone, '.git/info/exclude'), '/.tools\n') // a link, which .gitignore considers a file
    symlinkSync(join(ROOT, '.tools'), join(clone, '.tools'))
    run('cp', ['-a', join(ROOT, 'node_modules'), clone])
    run('cp', ['-a', join(ROOT, 'site/node_modules'), join(clone, 'site')])
    const cache = join(clone, 'build/go-cache') // git ignores it
    run('node', [join(clone, 'tools/release/main.mjs')], { VERSION: version, GOCACHE: cache })
    const other = readFileSync(join(clone, 'build/release', CHECKSUMS), 'utf8')
    const differing = differences(read('build/release', CHECKSUMS), other)
    if (differing.length > 0) throw new Error(`the second build differs in: ${differing.join(', ')}`)
    console.log('A second build in another folder has the same checksums.')
  } finally {
    rmSync(clone, { recursive: true, force: true })
  }
}

try {
  const commit = identify()
  release(commit)
  if (process.argv.includes('--verify')) verify(commit)
} catch (error) {
  console.error(`release: ${error.message}`)
  process.exitCode = 1
}
