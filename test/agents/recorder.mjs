// A proxy in front of the gateway that counts an agent's requests.
import { once } from 'node:events'
import { createServer, request } from 'node:http'
import { after } from 'node:test'

/** Starts the proxy. Returns its URL and the requests: { path, status, headers, at }, at in milliseconds. */
export async function startRecorder(target) {
  const requests = []
  const server = createServer((from, to) => {
    const { method, url: path, headers } = from
    const seen = { path, at: performance.now() }
    const upstream = request(new URL(path, target), { method, headers }, (response) => {
      Object.assign(seen, { status: response.statusCode, headers: response.headers, refusedAt: performance.now() })
      requests.push(seen)
      to.writeHead(response.statusCode, response.headers)
      response.pipe(to)
      response.on('error', () => to.destroy())
    })
    upstream.on('error', () => to.destroy())
    to.on('close', () => upstream.destroy())
    from.pipe(upstream)
    from.on('data', (piece) => {
      seen.body = (seen.body ?? '') + piece
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${server.address().port}`, requests }
}
