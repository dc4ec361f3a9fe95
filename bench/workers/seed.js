// Stores a project and its key as the control plane would: POST the output of bench/seed.
export default {
  async fetch(request, env) {
    const { objects, kv } = await request.json()
    for (const { class: name, object, command } of objects) {
      const stub = env[name].get(env[name].idFromName(object))
      const response = await stub.fetch('http://object/', { method: 'POST', body: Uint8Array.fromHex(command) })
      if (!response.ok) return response
    }
    for (const { key, value } of kv) await env.KV.put(key, Uint8Array.fromHex(value))
    return new Response('seeded\n')
  },
}
