// Checks the words of documents, interface strings and comments: node tools/words/main.mjs [--list] [PATH…]
// Without paths it reads every file that git tracks. --list prints the text it reads instead of checking it.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { pieces } from './pieces.mjs'
import { findings } from './rules.mjs'

/**
 * Text that is data: the rules' own examples, golden files, captured wire formats, licenses, and the references of
 * the clients, which are generated from comments.
 */
const SKIPPED =
  /^tools\/words\/|^docs\/clients\/reference\/|(^|\/)(dist|fuzz|wire|golden)\/|^LICENSE|worker-configuration\.d\.ts$|^core\/jsontext\/testdata\//

function tracked(paths) {
  const out = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...paths])
  return out
    .toString()
    .split('\0')
    .filter((file) => file && !SKIPPED.test(file))
}

function main(args) {
  const list = args.includes('--list')
  let count = 0
  for (const file of tracked(args.filter((arg) => arg !== '--list'))) {
    for (const piece of pieces(file, readFileSync(file, 'utf8'))) {
      if (list) console.log(`${file}:${piece.line}: [${piece.kind}] ${piece.text.replace(/\s+/g, ' ').trim()}`)
      else
        for (const { line, words, advice } of findings(piece, file)) {
          console.log(`${file}:${line}: "${words}": ${advice}`)
          count++
        }
    }
  }
  if (count > 0) {
    console.error(`words: ${count} findings; CONTRIBUTING.md says how we write`)
    process.exit(1)
  }
}

main(process.argv.slice(2))
