// Publishes the client libraries, all with the version in clients/VERSION. Without --publish, it is a dry run: it
// builds and packs everything, lists the contents of the packages, and prints the remaining commands. --pack FOLDER
// leaves the packages in a folder instead.
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'

const folder = import.meta.dirname
const version = readFileSync(join(folder, 'VERSION'), 'utf8').trim()
const publish = process.argv.includes('--publish')
const target = process.argv.includes('--pack') ? process.argv[process.argv.indexOf('--pack') + 1] : ''
const NPM_PACKAGES = ['ts', 'ai-sdk', 'langchain'] // the other packages depend on the first

run('node', [join(folder, 'version.mjs'), '--check'])
if (publish) clean()
run('node', [join(folder, 'build.mjs')])
for (const name of NPM_PACKAGES) npm(join(folder, name))
if (existsSync(join(folder, 'python/pyproject.toml'))) python(join(folder, 'python'))
if (existsSync(join(folder, 'go/go.mod')) && !target) go()
if (!publish && !target) console.log('Nothing was published. PUBLISH=1 make publish-clients publishes.')

/** Only committed files are published. */
function clean() {
  const changes = execFileSync('git', ['status', '--porcelain', '--', folder], { cwd: folder, encoding: 'utf8' })
  if (changes !== '') throw new Error(`commit these first:\n${changes}`)
}

function npm(path) {
  if (target) return run('npm', ['pack', '--offline', '--pack-destination', resolve(target)], path, 'ignore')
  const dry = publish ? [] : ['--dry-run', '--offline']
  run('npm', ['publish', '--access', 'public', '--provenance=false', ...dry], path)
}

/**
 * Builds a copy of the tracked files, because setuptools writes into the folder that it builds. There is no build
 * isolation, so nothing is downloaded.
 */
function python(path) {
  const copy = mkdtempSync(join(tmpdir(), 'postern-python-'))
  try {
    const tracked = execFileSync('git', ['ls-files', '-z'], { cwd: path, encoding: 'utf8' }).split('\0').filter(Boolean)
    for (const name of tracked) cpSync(join(path, name), join(copy, name))
    copyFileSync(join(folder, '../LICENSE'), join(copy, 'LICENSE'))
    run('chmod', ['-R', 'u=rwX,go=rX', copy]) // packages keep the modes
    const build = 'from setuptools import build_meta as b; b.build_sdist("dist"); b.build_wheel("dist")'
    run('python3', ['-c', build], copy, 'ignore')
    const files = readdirSync(join(copy, 'dist')).map((name) => join('dist', name))
    if (target) for (const file of files) copyFileSync(join(copy, file), join(target, basename(file)))
    console.log(`postern ${version} for PyPI: ${files.join(', ')}`)
    if (publish) run('python3', ['-m', 'twine', 'upload', ...files], copy)
  } finally {
    rmSync(copy, { recursive: true })
  }
}

/** The Go module is published by a tag whose prefix is the module's folder. */
function go() {
  const tag = `clients/go/v${version}`
  console.log(`Go module: git tag ${tag} && git push origin ${tag}`)
  if (!publish) return
  run('git', ['tag', tag])
  run('git', ['push', 'origin', tag])
}

function run(command, args, cwd = folder, stdout = 'inherit') {
  execFileSync(command, args, { cwd, stdio: ['inherit', stdout, 'inherit'] })
}
