// The minimal proxy behind one call to the key's object, which is as far away as x-bench says. This is the least that
// an exact limit adds. See measured.js for the header.
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
