// Creates archives and checksums that depend only on the files' contents. Entries are sorted and have the same time,
// owner and mode. Needs GNU tar.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const CHECKSUMS = 'SHA256SUMS'

/**
 * Packs the folder parent/name into the file out, a tar.gz.
 * @param {number} epoch time of all entries, in seconds
 */
export function pack(parent, name, out, epoch) {
  const normal = ['--sort=name', '--format=ustar', '--owner=0', '--group=0', '--numeric-owner', '--mode=u=rwX,go=rX']
  const tar = ['--create', '--file=-', `--mtime=@${epoch}`, ...normal, '--directory', parent, name]
  const options = { maxBuffer: 1 << 30, stdio: ['pipe', 'pipe', 'inherit'] }
  const input = execFileSync('tar', tar, options)
  writeFileSync(out, execFileSync('gzip', ['-n', '-9'], { ...options, input }))
}

/** Unpacks a tar.gz of trusted content into a folder. */
export function unpack(archive, folder) {
  execFileSync('tar', ['--extract', '--gzip', '--file', archive, '--directory', folder])
}

/** Writes the SHA-256 checksums of a folder's files, as `sha256sum --check` reads them. */
export function writeChecksums(folder) {
  const names = readdirSync(folder).filter((name) => name !== CHECKSUMS)
  const lines = names.sort().map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`)
  writeFileSync(join(folder, CHECKSUMS), lines.join(''))
}

/** Returns the names that do not have the same hash in both checksum files. */
export function differences(one, other) {
  const read = (text) => new Map(text.split('\n').flatMap((line) => (line ? [line.split(/\s+/).reverse()] : [])))
  const [left, right] = [read(one), read(other)]
  return [...new Set([...left.keys(), ...right.keys()])].filter((name) => left.get(name) !== right.get(name)).sort()
}

const sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex')
