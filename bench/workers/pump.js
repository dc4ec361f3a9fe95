// An identity proxy that copies the stream in JavaScript, as any Worker that reads it has to.
export default {
  async fetch(request, env, ctx) {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${env.UPSTREAM_KEY}` }
    const response = await fetch(env.UPSTREAM, { method: 'POST', headers, body: request.body })
    const { readable, writable } = new IdentityTransformStream()
    const writer = writable.getWriter()
    const pump = async () => {
      for await (const chunk of response.body) await writer.write(chunk)
      await writer.close()
    }
    ctx.waitUntil(pump())
    return new Response(readable, response)
  },
}
