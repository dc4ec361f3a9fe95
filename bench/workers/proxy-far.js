// The minimal proxy behind one call to the key's object. The header x-bench says how far away the object is (see
// measured.js). This is the least that an exact limit adds.
import proxy from './proxy.js'

export { Row } from './row.js'

const command = new Uint8Array(128)

export default {
  async fetch(request, env) {
    const [, objectMs] = request.headers.get('x-bench').split(',')
    await scheduler.wait(Number(objectMs))
    await env.ROW.get(env.ROW.idFromName('far')).call(command)
    return await proxy.fetch(request, env)
  },
}
