// Tests of the parts of a release: archives, checksums, bill of materials, notices and version.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { CHECKSUMS, differences, pack, unpack, writeChecksums } from './archive.mjs'
import { notice } from './notices.mjs'
import * as sbom from './sbom.mjs'
import { checkChangelog, checkVersion, dockerfile } from './version.mjs'

const root = resolve(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'postern-release-test-'))
after(() => rmSync(folder, { recursive: true }))

/** Writes files into a new folder, in the given order, and returns the folder. */
function write(files) {
  const made = mkdtempSync(join(folder, 'files-'))
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(made, name, '..'), { recursive: true })
    writeFileSync(join(made, name), text)
  }
  return made
}

/** Creates a new folder with files, packs its folder x, and returns the archive's bytes. */
function packed(files, change = () => {}) {
  const made = write(files)
  change(made)
  const out = join(made, 'out.tar.gz')
  pack(made, 'x', out, 1_700_000_000)
  return readFileSync(out)
}

test('an archive depends only on names, contents and which files are programs', () => {
  const files = { 'x/b': 'two', 'x/a': 'one', 'x/c/d': 'three' }
  const bytes = packed(files)
  const later = (made) => {
    utimesSync(join(made, 'x/a'), 1_800_000_000, 1_800_000_000)
    chmodSync(join(made, 'x/b'), 0o600)
    chmodSync(join(made, 'x/c'), 0o700)
  }
  assert.deepEqual(packed(Object.fromEntries(Object.entries(files).reverse()), later), bytes)
  assert.notDeepEqual(packed({ ...files, 'x/a': 'One' }), bytes)
  assert.notDeepEqual(
    packed(files, (made) => chmodSync(join(made, 'x/a'), 0o755)),
    bytes,
  )
})

test('an archive has the files, the time and no owner', () => {
  const made = write({ 'x/a': 'one', 'x/c/d': 'three' })
  const archive = join(made, 'out.tar.gz')
  pack(made, 'x', archive, 1_700_000_000)
  const target = write({})
  unpack(archive, target)
  assert.equal(readFileSync(join(target, 'x/c/d'), 'utf8'), 'three')
  const list = execFileSync('tar', ['-tvzf', archive, '--full-time', '--utc', '--numeric-owner'], { encoding: 'utf8' })
  for (const line of list.trim().split('\n')) assert.match(line, / 0\/0 +\d+ 2023-11-14 22:13:20 /)
})

test('sha256sum checks the checksums, and a changed file fails', () => {
  const made = write({ b: 'two', a: 'one' })
  writeChecksums(made)
  writeChecksums(made) // does not list itself
  const check = () => spawnSync('sha256sum', ['--check', CHECKSUMS], { cwd: made, encoding: 'utf8' })
  assert.equal(check().stdout, 'a: OK\nb: OK\n')
  writeFileSync(join(made, 'a'), 'One')
  assert.equal(check().status, 1)
})

test('differences are files with other contents and files that one side lacks', () => {
  assert.deepEqual(differences('1  a\n2  b\n', '2  b\n1  a\n'), [])
  assert.deepEqual(differences('1  a\n2  b\n3  c\n', '1  a\n9  b\n4  d\n'), ['b', 'c', 'd'])
})

/** A list in cyclonedx-gomod's format, for a binary with the given modules. */
function list(...modules) {
  const links = [{ type: 'vcs', url: 'https://example.com' }]
  return {
    bomFormat: 'CycloneDX',
    metadata: {
      tools: [
        { vendor: 'CycloneDX', name: 'gomod', version: 'v1', hashes: [{ alg: 'MD5', content: 'of the program' }] },
      ],
      component: { 'bom-ref': 'root', name: 'postern', externalReferences: links },
      properties: [{ name: 'GOARCH', value: 'of the platform' }],
    },
    components: modules.map((name) => ({ 'bom-ref': name, name })),
    dependencies: [{ ref: 'root', dependsOn: modules }, ...modules.map((ref) => ({ ref }))],
    compositions: [{ aggregate: 'complete', dependencies: modules }],
  }
}

test('the bill of materials has the modules of all platforms, once, and nothing of the machine', () => {
  const bill = sbom.join([list('b', 'linux'), list('b', 'darwin')], [sbom.tinygoComponent('v0.41.1')], 1_700_000_000)
  const tinygo = 'pkg:golang/github.com/tinygo-org/tinygo@v0.41.1'
  const refs = ['b', 'darwin', 'linux']
  assert.deepEqual(bill.components.map((component) => component['bom-ref']).sort(), [...refs, tinygo].sort())
  assert.deepEqual(bill.dependencies[0], { ref: 'root', dependsOn: [...refs, tinygo] })
  assert.deepEqual(bill.dependencies.map(({ ref }) => ref).sort(), [...refs, tinygo, 'root'].sort())
  assert.deepEqual(bill.metadata, {
    timestamp: '2023-11-14T22:13:20.000Z',
    tools: [{ vendor: 'CycloneDX', name: 'gomod', version: 'v1' }],
    component: { 'bom-ref': 'root', name: 'postern' },
  })
  assert.deepEqual(Object.keys(bill).sort(), ['bomFormat', 'components', 'dependencies', 'metadata'])
  const reversed = sbom.join(
    [list('darwin', 'b'), list('linux', 'b')],
    [sbom.tinygoComponent('v0.41.1')],
    1_700_000_000,
  )
  assert.deepEqual(reversed, bill)
})

test('an npm package has the version, hash and license of package-lock.json', () => {
  const integrity = `sha512-${Buffer.alloc(64, 1).toString('base64')}`
  const lock = { packages: { 'node_modules/@a/b': { version: '1.2.3', integrity, license: 'MIT' } } }
  const component = sbom.npmComponent(lock, '@a/b')
  assert.equal(component.purl, 'pkg:npm/%40a/b@1.2.3')
  assert.deepEqual(component.hashes, [{ alg: 'SHA-512', content: '01'.repeat(64) }])
  assert.deepEqual(component.licenses, [{ license: { id: 'MIT' } }])
  assert.throws(() => sbom.npmComponent(lock, 'c'), /package-lock.json has no c/)
  lock.packages['node_modules/@a/b'].integrity = 'sha1-AAAA'
  assert.throws(() => sbom.npmComponent(lock, '@a/b'), /no SHA-512/)
})

test('notices have all license files of a module, and a module without one is an error', () => {
  const made = write({ LICENSE: 'permission\n', 'NOTICE.txt': 'by us', 'license.go': 'package x', PATENTS: 'none' })
  assert.equal(notice('x v1', made), 'x v1\n\npermission\n\nby us\n\nnone\n')
  assert.throws(() => notice('x v1', write({ 'README.md': '' })), /x v1 has no license/)
})

test('a version is part of file names', () => {
  for (const version of ['v1.2.3', 'v1.2.3-rc.1', 'v1.2.3-4-g0123456789ab', '0123456789ab']) checkVersion(version)
  for (const version of ['', '../x', 'a/b', '-x', 'a b', 'v1\n', 'x'.repeat(65)]) {
    assert.throws(() => checkVersion(version), /want a tag/, version)
  }
})

test('a tag needs a section in the changelog, a commit does not', () => {
  const changelog = '# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-12-01\n'
  for (const version of ['v1.2.3', 'v1.2.4-1-g0123456789ab', '0123456789ab']) checkChangelog(version, changelog)
  for (const version of ['v1.2.4', 'v1.2.3-rc.1', 'v11.2.3'])
    assert.throws(() => checkChangelog(version, changelog), /no section/)
})

test('the container file names the version', () => {
  const text = dockerfile(readFileSync(join(root, 'deploy/release.Dockerfile'), 'utf8'), 'v1.2.3')
  assert.match(text, /^ARG VERSION=v1\.2\.3$/m)
  assert.throws(() => dockerfile('FROM scratch\n', 'v1.2.3'), /no line/)
})

/** Runs the release in a repository that contains only its scripts and a changelog. */
function release(change) {
  const made = write({ 'CHANGELOG.md': '## [Unreleased]\n' })
  const git = (...args) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.com', ...args], { cwd: made })
  mkdirSync(join(made, 'tools/release'), { recursive: true })
  for (const name of readdirSync(import.meta.dirname).filter((file) => file.endsWith('.mjs'))) {
    cpSync(join(import.meta.dirname, name), join(made, 'tools/release', name))
  }
  cpSync(join(root, 'site/shipped.mjs'), join(made, 'site/shipped.mjs'))
  git('init', '--quiet')
  git('add', '.')
  git('commit', '--quiet', '-m', 'x')
  change(made, git)
  return spawnSync(process.execPath, ['tools/release/main.mjs'], {
    cwd: made,
    encoding: 'utf8',
    env: { PATH: process.env.PATH },
  })
}

test('a checkout with changes, or a tag without a section in the changelog, is no release', () => {
  const dirty = release((made) => writeFileSync(join(made, 'new'), ''))
  assert.equal(dirty.status, 1)
  assert.equal(dirty.stderr, 'release: commit or remove these first:\n?? new\n')
  const tagged = release((_, git) => {
    git('tag', 'v1.2.3')
    git('tag', 'clients/go/v9.9.9') // of the Go client
  })
  assert.equal(tagged.status, 1)
  assert.equal(tagged.stderr, 'release: CHANGELOG.md has no section "## [1.2.3]"\n')
})
