// Links the packages of this folder into clients/node_modules, so that they find each other as if they were
// installed.
import { lstatSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

const scope = join(import.meta.dirname, 'node_modules/@postern-ai')
const packages = { client: 'ts', 'ai-sdk': 'ai-sdk', langchain: 'langchain' }

mkdirSync(scope, { recursive: true })
for (const [name, folder] of Object.entries(packages)) {
  const link = join(scope, name)
  if (lstatSync(link, { throwIfNoEntry: false })) rmSync(link, { recursive: true })
  symlinkSync(join('../..', folder), link, 'dir')
}
