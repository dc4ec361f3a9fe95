// The software bill of materials of `postern`, in CycloneDX: https://cyclonedx.org/docs/1.6/json/
import { execFileSync } from 'node:child_process'

/**
 * Returns the Go modules in a binary, as cyclonedx-gomod lists them.
 * @param {string} tool path of cyclonedx-gomod
 */
export function modulesOf(tool, binary, version) {
  const flags = ['-json', '-std', '-noserial', '-notimestamp', '-short-purls', '-version', version]
  return JSON.parse(execFileSync(tool, ['bin', ...flags, binary], { encoding: 'utf8', maxBuffer: 1 << 26 }))
}

/**
 * Merges the lists of all platforms and adds missing components. It leaves out anything that depends on the machine
 * or the platform, and links to the project's own repository.
 * @param {object[]} lists of modulesOf
 * @param {object[]} others further components, each with bom-ref
 * @param {number} epoch time of the release, in seconds
 */
export function join(lists, others, epoch) {
  const [first] = lists
  const { compositions: _, ...rest } = first // says that the list is complete, which is no longer true with the other components
  const { externalReferences: __, ...component } = first.metadata.component
  const root = component['bom-ref']
  const components = byRef([...lists.flatMap((list) => list.components), ...others], 'bom-ref')
  const dependencies = byRef(
    lists.flatMap((list) => list.dependencies),
    'ref',
  )
  const direct = new Set(lists.flatMap((list) => list.dependencies.find(({ ref }) => ref === root)?.dependsOn ?? []))
  for (const other of others) direct.add(other['bom-ref'])
  return {
    ...rest,
    metadata: {
      timestamp: new Date(epoch * 1000).toISOString(),
      tools: first.metadata.tools.map(({ vendor, name, version }) => ({ vendor, name, version })),
      component,
    },
    components,
    dependencies: [
      { ref: root, dependsOn: [...direct].sort() },
      ...dependencies.filter(({ ref }) => ref !== root),
      ...others.map((other) => ({ ref: other['bom-ref'] })),
    ],
  }
}

/** Returns the component of an npm package that package-lock.json pins. */
export function npmComponent(lock, name) {
  const entry = lock.packages[`node_modules/${name}`]
  if (!entry) throw new Error(`package-lock.json has no ${name}`)
  const { version, integrity, license } = entry
  const [algorithm, hash] = integrity.split('-', 2)
  if (algorithm !== 'sha512') throw new Error(`package-lock.json has no SHA-512 of ${name}`)
  const purl = `pkg:npm/${name.replace('@', '%40')}@${version}`
  return {
    'bom-ref': purl,
    type: 'library',
    name,
    version,
    scope: 'required',
    hashes: [{ alg: 'SHA-512', content: Buffer.from(hash, 'base64').toString('hex') }],
    licenses: [{ license: { id: license } }],
    purl,
  }
}

/** Returns the component of TinyGo, whose runtime is in core.wasm. */
export function tinygoComponent(version) {
  const purl = `pkg:golang/github.com/tinygo-org/tinygo@${version}`
  const name = 'github.com/tinygo-org/tinygo'
  return { 'bom-ref': purl, type: 'library', name, version, scope: 'required', purl }
}

/** Returns one entry for each reference, in the order of the references. */
function byRef(entries, key) {
  const found = new Map(entries.map((entry) => [entry[key], entry]))
  return [...found.values()].sort((a, b) => (a[key] < b[key] ? -1 : 1))
}
