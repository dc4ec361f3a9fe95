// The license texts of the software in `postern`, which the archives include.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const TEXTS = /^(licen[cs]e|copying|notice|patents)(\.(md|txt))?$/i
const RULE = `\n${'-'.repeat(80)}\n\n`

/**
 * Returns the notices of Go modules, after those of Go itself and of TinyGo.
 * @param {string} root the checkout
 * @param {string[]} modules paths of modules that the checkout's go.mod requires
 * @param {string} bundled the notices of the packages in the dashboard and the documentation
 */
export function notices(root, modules, bundled) {
  const go = (folder, ...args) => execFileSync('go', args, { cwd: folder, encoding: 'utf8' }).trim()
  const tinygo = go(join(root, 'tools'), 'list', '-m', '-f', '{{.Dir}}', 'github.com/tinygo-org/tinygo')
  const folders = go(root, 'list', '-m', '-f', '{{.Path}} {{.Version}}\t{{.Dir}}', ...modules)
  const found = folders.split('\n').map((line) => line.split('\t'))
  const all = [['Go', go(root, 'env', 'GOROOT')], ['TinyGo', tinygo], ...found]
  return [...all.map(([title, folder]) => notice(title, folder)), bundled].join(RULE)
}

/** Returns the license texts in a folder under a title. A folder without any is an error. */
export function notice(title, folder) {
  const names = readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isFile() && TEXTS.test(entry.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
  if (names.length === 0) throw new Error(`${title} has no license in ${folder}`)
  const texts = names.map(({ name }) => readFileSync(join(folder, name), 'utf8').trim())
  return `${title}\n\n${texts.join('\n\n')}\n`
}
