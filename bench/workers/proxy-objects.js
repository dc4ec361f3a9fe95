// The minimal proxy with a call to the key's object before the fetch, and another after the response. The second call
// does not delay the response. This is the minimum cost of a metering gateway. Each object has its own database, so
// the number of keys matters: concurrent writes of one key share a commit.
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
