// The least that a gateway does for a cached response: it reads the body, sets headers, logs one line and returns a
// constant. HEADERS are those of Postern's response, as JSON.
const line = { level: 'info', event: 'request', project: 'proj_bench', key: 'key_bench', endpoint: '/api/ai/complete' }
let headers
let answer

export default {
  async fetch(request, env) {
    const started = Date.now()
    headers ??= JSON.parse(env.HEADERS)
    answer ??= new TextEncoder().encode(env.ANSWER)
    const body = await request.arrayBuffer()
    const requestId = `req_${crypto.getRandomValues(new Uint8Array(16)).toHex()}`
    const response = new Response(answer, { headers: [...headers, ['x-request-id', requestId]] })
    const ms = Date.now() - started
    console.log(JSON.stringify({ ...line, requestId, status: 200, cache: 'hit', bytes: body.byteLength, ms }))
    return response
  },
}
