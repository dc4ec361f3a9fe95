// The conditions of a run's figures: the machine, and the versions of the programs.
import { readFileSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { join } from 'node:path'
import { output, ROOT } from './process.mjs'

const versionOf = (name) => JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version

/** The first version number in what a command prints. */
async function printed(command, ...args) {
  const text = await output(command, args)
  return text.match(/\d+(\.\d+)+/)?.[0] ?? text.trim()
}

/** The commit of the project. A "+" means that files differ from it. */
async function commit() {
  const changed = await output('git', ['status', '--porcelain', '--untracked-files=no'])
  return (await output('git', ['rev-parse', '--short=12', 'HEAD'])).trim() + (changed === '' ? '' : '+')
}

export async function machine() {
  const all = cpus()
  return {
    cpu: all[0].model.trim(),
    cores: all.length,
    memoryGB: Math.round(totalmem() / 1e9),
    kernel: release(),
    node: process.versions.node,
    workerd: versionOf('workerd'),
    go: await printed('go', 'version'),
    tinygo: await printed('tinygo', 'version'),
    commit: await commit(),
  }
}

const programs = { node: 'Node', workerd: 'workerd', go: 'Go', tinygo: 'TinyGo', postgres: 'PostgreSQL' }

/** The machine as one sentence. Results of earlier versions lack some of the fields. */
export function described(m) {
  const versions = Object.entries(programs).filter(([name]) => m[name])
  return [
    `${m.cpu}, ${m.cores} cores, ${m.memoryGB} GB${m.kernel ? `, Linux ${m.kernel}` : ''}`,
    versions.map(([name, title]) => `${title} ${m[name]}`).join(', '),
    m.commit ? `Postern at ${m.commit}` : '',
  ]
    .filter(Boolean)
    .join('; ')
}
