// The parts of a release that depend on its version: the names of its files, and the changelog section that describes
// it.

/** The platforms that have an archive, as Go names them. */
export const PLATFORMS = [
  { os: 'linux', arch: 'amd64' },
  { os: 'linux', arch: 'arm64' },
  { os: 'darwin', arch: 'amd64' },
  { os: 'darwin', arch: 'arm64' },
]

/** Returns a version that can be part of a file name, and throws for any other. */
export function checkVersion(version) {
  if (!/^[0-9A-Za-z][0-9A-Za-z.+-]{0,63}$/.test(version))
    throw new Error(`version ${JSON.stringify(version)}: want a tag such as v1.2.3`)
  return version
}

/** Throws if a tagged version, such as v1.2.3, has no section in CHANGELOG.md. */
export function checkChangelog(version, changelog) {
  const tagged = /^v(\d+\.\d+\.\d+(?:-(?!\d+-g)[0-9A-Za-z.]+)?)$/.exec(version)
  if (tagged && !changelog.split('\n').some((line) => line.startsWith(`## [${tagged[1]}]`)))
    throw new Error(`CHANGELOG.md has no section "## [${tagged[1]}]"`)
}

/** Returns the container file of a release: the template with the version. */
export function dockerfile(template, version) {
  const line = /^ARG VERSION=$/m
  if (!line.test(template)) throw new Error('the container file has no line "ARG VERSION="')
  return template.replace(line, `ARG VERSION=${version}`)
}
