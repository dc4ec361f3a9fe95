// The framework packages and the handlers as an outside user gets them: packed, then unpacked in an empty folder next
// to the frameworks.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { ROOT } from '../../../test/sdk/gateway.mjs'

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'postern-packed-'))
after(() => rmSync(folder, { recursive: true }))
const modules = join(folder, 'node_modules')
const version = readFileSync(join(ROOT, 'clients/VERSION'), 'utf8').trim()

for (const [name, source] of Object.entries({ client: 'ts', 'ai-sdk': 'ai-sdk', langchain: 'langchain' })) {
  const target = join(modules, '@postern-ai', name)
  mkdirSync(target, { recursive: true })
  const pack = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder]
  await run('npm', pack, { cwd: join(ROOT, 'clients', source) })
  await run('tar', ['-xzf', join(folder, `postern-ai-${name}-${version}.tgz`), '-C', target, '--strip-components=1'])
}
for (const name of ['ai', '@ai-sdk', '@langchain', 'zod'])
  symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
for (const name of ['express', '@types']) {
  symlinkSync(join(ROOT, 'clients/examples/node_modules', name), join(modules, name))
}

const options = "{ apiKey: 'sk_live_0123456789', baseURL: 'https://ai.example.com' }"
const parts = (load) => `
${load('{ createPostern, postern, PosternCallError }', '@postern-ai/ai-sdk')}
${load('{ ChatPostern, PosternEmbeddings }', '@postern-ai/langchain')}
${load('{ createChatHandler }', '@postern-ai/client/handler')}
${load('{ createChatHandler: forExpress }', '@postern-ai/client/express')}
${load('{ chat, ChatError }', '@postern-ai/client/browser')}
${load('{ Postern, BudgetExceededError }', '@postern-ai/client')}
const model = createPostern(${options})('cheap')
const handlers = [createChatHandler, forExpress].map((make) => make({ client: new Postern(${options}), authorize: () => true }))
const { name } = new ChatPostern({ model: 'cheap', ...${options} }).constructor
console.log(model.specificationVersion, name, handlers.length, typeof chat, typeof PosternCallError, BudgetExceededError.name)
`
const OUTPUT = 'v3 ChatPostern 2 function function BudgetExceededError\n'

test('as ES modules', async () => {
  const program = parts((names, from) => `import ${names.replaceAll(': ', ' as ')} from '${from}'`)
  writeFileSync(join(folder, 'program.mjs'), program)
  assert.equal((await run('node', ['program.mjs'], { cwd: folder })).stdout, OUTPUT)
})

test('by require', async () => {
  const program = parts((names, from) => `const ${names} = require('${from}')`)
  writeFileSync(join(folder, 'program.cjs'), program)
  const warnings = ['--disable-warning=ExperimentalWarning'] // Node 22 reports require of an ES module as experimental
  assert.equal((await run('node', [...warnings, 'program.cjs'], { cwd: folder })).stdout, OUTPUT)
})

// The frameworks' packages need Node 22, as their frameworks do. The handlers also run in Node 20.
test('the handlers in Node 20', async () => {
  const node20 = join(ROOT, '.tools/runtimes/node20')
  const names = ['handler', 'express', 'browser']
  const exported = `Object.keys(each).join()`
  const imports = names.map((name) => `await import('@postern-ai/client/${name}')`)
  const requires = names.map((name) => `require('@postern-ai/client/${name}')`)
  for (const [file, list] of Object.entries({ 'twenty.mjs': imports, 'twenty.cjs': requires })) {
    writeFileSync(join(folder, file), `for (const each of [${list}]) console.log(${exported})`)
    const { stdout } = await run(node20, [file], { cwd: folder })
    assert.equal(stdout, 'createChatHandler\ncreateChatHandler\nChatError,chat\n')
  }
})

const TYPED = `
import { createPostern, type PosternCallOptions } from '@postern-ai/ai-sdk'
import { Postern } from '@postern-ai/client'
import { chat } from '@postern-ai/client/browser'
import { createChatHandler as forExpress } from '@postern-ai/client/express'
import { createChatHandler } from '@postern-ai/client/handler'
import { ChatPostern, PosternEmbeddings } from '@postern-ai/langchain'
import type { BaseChatModel } from '@langchain/core/language_models/chat_models'
import type { Embeddings } from '@langchain/core/embeddings'
import { createProviderRegistry, embed, generateText, wrapLanguageModel } from 'ai'
import express from 'express'

const postern = createPostern({ governor: { autoApproveThreshold: 10 } })
const settings: PosternCallOptions = { strict: true, idempotency: 'order-42' }
const { text } = await generateText({ model: postern('cheap'), prompt: 'x', providerOptions: { postern: { ...settings } } })
const { embedding } = await embed({ model: postern.embeddingModel('vectors'), value: text })
wrapLanguageModel({ model: postern.chat('cheap'), middleware: [] })
createProviderRegistry({ postern }).languageModel('postern:cheap')
const model: BaseChatModel = new ChatPostern({ model: 'cheap', temperature: 0 })
const embeddings: Embeddings = new PosternEmbeddings({ model: 'vectors' })
const message = await new ChatPostern('cheap').invoke('x', { postern: { cacheControl: 'no-store' } })
const client = new Postern()
const handler: (request: Request) => Promise<Response> = createChatHandler({
  client,
  authorize: (request) => (request.headers.has('cookie') ? { name: 'Ada' } : false),
  prepare: ({ messages }, { name }) => ({ messages: [{ role: 'system', content: name }, ...messages], quality: 'cheap' }),
})
express().post('/api/chat', forExpress({ client, authorize: (request) => request.headers.cookie }))
for await (const piece of chat('/api/chat', { messages: [{ role: 'user', content: 'x' }] })) piece.toUpperCase()
// @ts-expect-error: authorize is required
createChatHandler({ client })
// @ts-expect-error: not an option
createPostern({ key: 'x' })
// @ts-expect-error: the model is required
new ChatPostern({ temperature: 0 })
export { embedding, embeddings, handler, message, model }
`

test('with types, for a strict project', async () => {
  writeFileSync(join(folder, 'typed.mts'), TYPED)
  const lib = ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable', 'esnext.disposable']
  const compilerOptions = { strict: true, module: 'nodenext', target: 'es2023', lib, noEmit: true, skipLibCheck: true }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['typed.mts'] }))
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]).catch(({ stdout }) => assert.fail(stdout))
})
