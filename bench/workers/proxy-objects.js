// The minimal proxy with a call of the key's object before the fetch and another after the response, which does not delay it:
// the minimum cost of a metering gateway. Each object has its own database, so the number of keys matters: the writes of one key
// at the same time are one commit.
import proxy from './proxy.js'

export { Row } from './row.js'

const command = new Uint8Array(128)

export default {
  async fetch(request, env, ctx) {
    const row = () => env.ROW.get(env.ROW.idFromName(request.headers.get('x-api-key')))
    await row().call(command)
    const response = await proxy.fetch(request, env)
    ctx.waitUntil(row().call(command))
    return response
  },
}
