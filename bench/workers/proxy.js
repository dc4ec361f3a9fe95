// The least that a gateway in front of a provider can be.
export default {
  fetch(request, env) {
    return fetch(env.UPSTREAM, {
      method: request.method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${env.UPSTREAM_KEY}` },
      body: request.body,
      redirect: 'manual',
    })
  },
}
