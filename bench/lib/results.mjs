// The conditions that a run's figures depend on.

import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { ROOT } from './process.mjs'

const versionOf = (name) => JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')).version

export function machine() {
  const all = cpus()
  return {
    cpu: all[0].model.trim(),
    cores: all.length,
    memoryGB: Math.round(totalmem() / 1e9),
    node: process.versions.node,
    workerd: versionOf('workerd'),
  }
}
