// The minimal proxy in front of a provider.
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
