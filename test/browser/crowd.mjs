// A deployment with many projects and keys, for the tests of lists and searches. Names have the maximum length.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { until } from './service.mjs'

export const PROJECTS = 200
export const KEYS_EACH = 10
const NAME_LENGTH = 120
const ROWS_AT_ONCE = 400
const PLACES = ['Frankfurt', 'Dublin', 'Oslo', 'Porto', 'Turin', 'Ghent', 'Bergen']

const sha256 = (text) => createHash('sha256').update(text).digest('hex')

/** A name of 120 characters that begins with a given text. */
export const longName = (start) =>
  `${start} of the team that writes about the weather, the tides and the stars `
    .repeat(3)
    .slice(0, NAME_LENGTH - 1)
    .concat('.')
export const projectName = (i) => longName(`Project ${i}, ${PLACES[i % PLACES.length]},`)
export const keyName = (i, j) => longName(`Key ${i}.${j}`)
/** The last four characters of a key. */
export const last4 = (i, j) => `z${(i * KEYS_EACH + j).toString(36).padStart(3, '0')}`

/**
 * Adds 200 projects with ten keys each. An import loads them as copies of one project's row and one key's row,
 * because the Workers would need minutes to create them one by one. The import is never finished, so the keys' meters
 * do not receive the keys. The dashboard finds and shows the keys, but the gateway does not accept them.
 * @param {object} service of startService
 */
export async function crowd(service) {
  const project = await service.project({ name: longName('Model of a project') })
  const key = await service.key(project, { name: longName('Model of a key') })
  const rows = await exported(service)
  const [projectRow, keyRow] = [`d/p/${project.id}`, `d/k/${project.id}/${key.id}`].map((at) =>
    rows.find(({ key }) => key === at),
  )
  const made = []
  for (let i = 0; i < PROJECTS; i++) {
    const id = numbered(project.id, i)
    const named = [project.id, id, project.name, projectName(i)]
    made.push(copy(projectRow, named))
    for (let j = 0; j < KEYS_EACH; j++) made.push(copy(keyRow, [...named, ...renamedKey(keyRow, key, i, j)]))
  }
  await load(service, made)
}

/** The same ID, with its last digits replaced by a number. */
const numbered = (id, n) => id.slice(0, -8) + String(n).padStart(8, '0')

/** The parts that differ in the rows of a key: ID, name, hash, and last four characters. */
function renamedKey(row, key, i, j) {
  const hash = /[0-9a-f]{64}/.exec(Buffer.from(row.value, 'base64').toString('latin1'))[0]
  const number = i * KEYS_EACH + j
  return [
    key.id,
    numbered(key.id, number),
    key.name,
    keyName(i, j),
    `${hash}\x04${key.last4}`,
    `${sha256(`key ${number}`)}\x04${last4(i, j)}`,
  ]
}

/** A row in which strings are replaced with others of the same length. @param {string[]} pairs text, replacement, … */
function copy(row, pairs) {
  let { key } = row
  let value = Buffer.from(row.value, 'base64').toString('latin1')
  for (let i = 0; i < pairs.length; i += 2) {
    assert.equal(pairs[i].length, pairs[i + 1].length, `${pairs[i]} and ${pairs[i + 1]}`)
    key = key.replaceAll(pairs[i], pairs[i + 1])
    value = value.replaceAll(pairs[i], pairs[i + 1])
  }
  return { key, value: Buffer.from(value, 'latin1').toString('base64') }
}

/** The rows of the Directory, once its deliveries are done. */
async function exported(service) {
  return await until('the Directory is exported', async () => {
    const rows = []
    for (let after = ''; after !== null; ) {
      const { status, body } = await service.call('POST', 'export', { object: 'directory', after })
      if (status !== 200) return null
      rows.push(...body.rows)
      after = body.next
    }
    return rows
  })
}

async function load(service, rows) {
  const sorted = rows.sort((a, b) => (a.key < b.key ? -1 : 1))
  const ids = sorted.filter(({ key }) => key.startsWith('d/p/')).map(({ key }) => key.slice('d/p/'.length))
  const id = sha256(JSON.stringify(ids))
  await service.admin('POST', 'import', { import: id, projects: ids })
  for (let i = 0; i < sorted.length; i += ROWS_AT_ONCE) {
    const page = {
      import: id,
      object: 'directory',
      first: i === 0,
      last: false,
      rows: sorted.slice(i, i + ROWS_AT_ONCE),
    }
    await service.admin('POST', 'import/rows', page)
  }
}
