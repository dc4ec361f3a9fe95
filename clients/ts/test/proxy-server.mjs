// A proxy for tests. It tunnels and forwards everything to one server, whatever host is requested.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, request as send } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { createServer as createTLSServer } from 'node:tls'

/**
 * Starts a proxy in front of the server at `target`, an http URL. With `password`, requests need `user:password`.
 * With `refuses`, each request gets that status. `tls` terminates TLS in tunnels to port 443. `seen` lists the
 * requests: the method, the address and the proxy-authorization header.
 */
export async function startProxy(target, { password, refuses, tls } = {}) {
  const { hostname, port } = new URL(target)
  const seen = []
  const sockets = new Set()
  const wanted = password && `Basic ${Buffer.from(password).toString('base64')}`
  const statusOf = ({ method, url, headers }) => {
    const authorization = headers['proxy-authorization'] ?? null
    seen.push({ method, address: url, authorization })
    if (refuses) return refuses
    return wanted && authorization !== wanted ? 407 : 200
  }
  const server = createServer((request, response) => {
    const status = statusOf(request)
    if (status !== 200) return response.writeHead(status).end()
    const { pathname, search } = new URL(request.url)
    const { 'proxy-authorization': _, 'proxy-connection': __, ...headers } = request.headers
    const forwarded = send({ hostname, port, method: request.method, path: pathname + search, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers)
      answer.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    response.on('close', () => forwarded.destroy())
    request.pipe(forwarded)
  })
  server.on('connect', (request, socket) => {
    const status = statusOf(request)
    if (status !== 200) return socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n\r\n`)
    const upstream = connect(request.url.endsWith(':443') ? tls : port, hostname)
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
    joined(socket, upstream)
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => {})
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const stop = () => {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
  return { address: `127.0.0.1:${server.address().port}`, seen, stop }
}

/**
 * Starts a server that terminates TLS for `host` in front of `target`. The certificate is in `folder`/certificate.pem.
 */
export async function startTLS(target, host, folder) {
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'certificate.pem')]
  const subject = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`]
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2']
  execFileSync('openssl', ['req', ...kind, ...subject, '-keyout', key, '-out', certificate], { stdio: 'ignore' })
  const { hostname, port } = new URL(target)
  const server = createTLSServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (socket) =>
    joined(socket, connect(port, hostname)),
  )
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return { port: server.address().port, certificate, stop: () => server.close() }
}

/** Passes bytes both ways, and passes the end of either connection to the other. */
function joined(one, other) {
  one.pipe(other).pipe(one)
  for (const [socket, peer] of [
    [one, other],
    [other, one],
  ]) {
    socket.on('error', () => peer.destroy()).on('close', () => peer.destroy())
  }
}
