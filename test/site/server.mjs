// Serves build/docs as the gateway does: under /docs/, compressed, with a policy that permits nothing else.
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'

const ROOT = join(import.meta.dirname, '../..')
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
}

/** The policies for all files, which apply together: only this origin, and only paths under /docs/. */
const policies = () => [policy("'self'", "'self'"), policy('http://*:*/docs/', 'http://*:*/docs/pagefind/')].join(', ')

function policy(site, search) {
  const { scripts, styles } = JSON.parse(readFileSync(join(ROOT, 'build/docs.json'), 'utf8'))
  return [
    "default-src 'none'",
    ['script-src', site, "'wasm-unsafe-eval'", ...scripts].join(' '), // Pagefind reads its index with WebAssembly
    ['style-src', site, ...styles].join(' '),
    `img-src ${site} data:`,
    `connect-src ${search}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/**
 * Starts the server.
 * @returns {Promise<{origin: string, sent: () => number, close: () => void}>} `sent` returns the bytes of all bodies since it was
 *   last called, as they were sent
 */
export async function startSite() {
  let bytes = 0
  const server = createServer((request, response) => {
    const { status, body, headers } = respond(new URL(request.url, 'http://localhost').pathname)
    bytes += body.length
    response.writeHead(status, { ...headers, 'content-security-policy': policies() }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${server.address().port}`,
    sent: () => {
      const since = bytes
      bytes = 0
      return since
    },
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

function respond(path) {
  const [, name] = path.match(/^\/docs\/(.*)$/) ?? []
  const found = name === undefined ? undefined : read(name === '' || name.endsWith('/') ? `${name}index.html` : name)
  const file = found ?? read('404.html')
  const type =
    (found ? TYPES[extname(name)] : undefined) ??
    (!found || path.endsWith('/') ? TYPES['.html'] : 'application/octet-stream')
  return {
    status: found ? 200 : 404,
    body: gzipSync(file),
    headers: { 'content-type': type, 'content-encoding': 'gzip', 'x-content-type-options': 'nosniff' },
  }
}

function read(name) {
  try {
    return readFileSync(join(ROOT, 'build/docs', name))
  } catch {
    return undefined
  }
}
