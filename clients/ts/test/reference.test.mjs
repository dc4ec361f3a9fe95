// The reference generated from the declarations: every name that the package exports has an entry with a description.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { render } from '../tools/reference.mjs'

const dist = join(import.meta.dirname, '../dist')
const source = (name) => readFileSync(join(import.meta.dirname, `../src/${name}.ts`), 'utf8')

/** The entries of a page: name and text, without the code. */
function entries(page) {
  const parts = page.split(/^#{3,4} (?=\w)/m).slice(1)
  return parts.map((part) => {
    const [name, ...rest] = part.split(/\n(?=## )/)[0].split('\n')
    assert.match(rest.join('\n'), /^\n```ts\n\S/, `${name} has no code`)
    return {
      name,
      text: rest
        .join('\n')
        .replace(/```[\s\S]*?```/, '')
        .trim(),
    }
  })
}

test('every exported name has an entry with a text', () => {
  const found = entries(render(dist))
  for (const { name, text } of found) assert.notEqual(text, '', `${name} has no text`)
  const names = new Set(found.map(({ name }) => name))
  const lists = [...source('index').matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list]) => list.split(','))
  const wanted = lists.map((name) => name.trim()).filter((name) => name && !name.includes(' as '))
  for (const file of ['handler', 'express', 'browser']) {
    wanted.push(
      ...[...source(file).matchAll(/^export (?:async )?(?:function\*?|class|interface) (\w+)/gm)].map((m) => m[1]),
    )
  }
  assert.ok(wanted.length > 80)
  assert.deepEqual(
    wanted.filter((name) => !names.has(name)),
    [],
  )
  for (const method of ['AI.complete', 'AI.chat', 'Models.transition', 'Page.nextPage'])
    assert.ok(names.has(method), method)
})

/** Renders the page of a package with one file of declarations. */
function renderOf(text, files = ['index']) {
  const folder = mkdtempSync(join(tmpdir(), 'postern-reference-'))
  try {
    writeFileSync(join(folder, 'index.d.ts'), text)
    return render(folder, [['All', 'index', files]])
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('an entry has the signature, members with comments, and overloads together', () => {
  const page = renderOf(`/** Things. */
export declare class Things {
    #private;
    /** Milliseconds. */
    readonly age?: number | undefined;
    /** Gets one. */
    get<T>(id: T): string;
    get(): {
        all: string;
    };
}
`)
  assert.ok(
    page.includes(
      '### Things\n\n```ts\nclass Things {\n  /** Milliseconds. */\n  readonly age?: number\n}\n```\n\nThings.\n',
    ),
  )
  assert.ok(page.includes('```ts\nget<T>(id: T): string\nget(): {\n  all: string\n}\n```\n\nGets one.\n'))
  assert.ok(!page.includes('private'))
})

test('a name without a comment or a section is an error', () => {
  assert.throws(() => renderOf('export interface A {\n    a: string;\n}\n'), /A has no doc comment/)
  assert.throws(() => renderOf('/** A. */\nexport declare class A {\n    a(): void;\n}\n'), /A\.a has no doc comment/)
  assert.throws(() => renderOf('/** A. */\nexport type A = 1;\n', ['other']), /A is in no section/)
})
