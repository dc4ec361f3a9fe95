// One object call and a constant response: the minimum cost of a metered cache hit.
export { Row } from './row.js'

const command = new Uint8Array(128)
const answer = JSON.stringify({ text: 'constant' })

export default {
  async fetch(_request, env) {
    await env.ROW.get(env.ROW.idFromName('row')).call(command)
    return new Response(answer, { headers: { 'content-type': 'application/json' } })
  },
}
