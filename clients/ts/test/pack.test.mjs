// The package as its users get it: packed, installed offline in an empty folder, and used from ES modules, CommonJS
// and TypeScript.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { startServer } from './server.mjs'

const PACKAGE = join(import.meta.dirname, '..')
const NODE20 = join(PACKAGE, '../../.tools/runtimes/node20')
const server = await startServer()
const folder = mkdtempSync(join(tmpdir(), 'postern-pack-'))
after(() => rmSync(folder, { recursive: true }))

const npm = (...args) =>
  execFileSync('npm', [...args, '--offline', '--loglevel=error', '--no-audit', '--no-fund'], {
    cwd: folder,
    encoding: 'utf8',
  })
const [{ filename, files }] = JSON.parse(npm('pack', PACKAGE, '--json', '--pack-destination', folder))
writeFileSync(join(folder, 'package.json'), '{}')
npm('install', `./${filename}`)

const CALL = `
  const postern = new Postern({ apiKey: 'sk_test_a', baseURL: process.argv[2] })
  postern.ai.chat({ messages: [{ role: 'user', content: 'Hello!' }] })
    .then((stream) => stream.final())
    .then(({ text, usage }) => console.log(text, usage.costCents))`
const PROGRAMS = {
  'esm.mjs': `import { Postern } from '@postern-ai/client'${CALL}`,
  'default.mjs': `import Postern from '@postern-ai/client'${CALL}`,
  'common.cjs': `const { Postern } = require('@postern-ai/client')${CALL}`,
}

test('the tarball has the build, the license and the readme, and nothing else', () => {
  const paths = files.map(({ path }) => path)
  const other = paths.filter((path) => !/^dist\/(cjs\/)?[a-z]+\.(js|cjs|d\.ts|d\.cts)$/.test(path))
  assert.deepEqual(other.sort(), ['LICENSE', 'README.md', 'package.json'])
  assert.ok(paths.includes('dist/index.js') && paths.includes('dist/cjs/index.d.cts'))
})

for (const [version, node] of Object.entries({ 'Node 20': NODE20, 'this Node': process.execPath })) {
  for (const [name, program] of Object.entries(PROGRAMS)) {
    test(`${version}: ${name}`, async () => {
      const id = `pack-${version}-${name}`.replaceAll(/[^a-z0-9]/gi, '')
      const script = [
        {
          sse: [
            { type: 'delta', text: 'Hi' },
            { type: 'done', usage: { costCents: 0.5 } },
          ],
        },
      ]
      await fetch(`${server}/__cases/${id}`, { method: 'PUT', body: JSON.stringify(script) })
      writeFileSync(join(folder, name), program)
      const { stdout } = await promisify(execFile)(node, [name, `${server}/c/${id}`], { cwd: folder })
      assert.equal(stdout, 'Hi 0.5\n')
    })
  }
}

const TYPED = `
  const postern = new Postern()
  export const cost: Promise<number> = postern.ai.chat({ messages: [] }).then((stream) => stream.usage()).then((usage) => usage.costCents)
  // @ts-expect-error: costs are numbers
  export const wrong: string = (0 as unknown as Completion).usage.costCents`
const TYPED_PROGRAMS = {
  'esm.mts': `import { type Completion, Postern } from '@postern-ai/client'${TYPED}`,
  'common.cts': `import { type Completion, Postern } from '@postern-ai/client'${TYPED}`,
  'required.cts': `import postern = require('@postern-ai/client')\nexport const error: postern.PosternError = new postern.APITimeoutError('late')`,
}

for (const [how, flags] of Object.entries({
  nodenext: ['--module', 'nodenext'],
  bundler: ['--module', 'preserve', '--moduleResolution', 'bundler'],
})) {
  test(`TypeScript, ${how}`, () => {
    for (const [name, text] of Object.entries(TYPED_PROGRAMS)) writeFileSync(join(folder, name), text)
    const options = ['--strict', '--exactOptionalPropertyTypes', '--noEmit', '--target', 'es2023', ...flags]
    // Without --skipLibCheck, so the package's declarations are also checked.
    execFileSync(join(PACKAGE, '../../node_modules/.bin/tsc'), [...options, ...Object.keys(TYPED_PROGRAMS)], {
      cwd: folder,
      stdio: 'inherit',
    })
  })
}

test('the installed package has no other package', () => {
  assert.deepEqual(readdirSync(join(folder, 'node_modules/@postern-ai')), ['client'])
  assert.deepEqual(
    readdirSync(join(folder, 'node_modules')).filter((name) => !name.startsWith('.')),
    ['@postern-ai'],
  )
  const { version } = JSON.parse(readFileSync(join(folder, 'node_modules/@postern-ai/client/package.json'), 'utf8'))
  assert.equal(version, readFileSync(join(PACKAGE, '../VERSION'), 'utf8').trim())
})
