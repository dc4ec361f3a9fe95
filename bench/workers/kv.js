// An in-memory KV namespace behind workerd's KV binding, which speaks HTTP with one key per path. The number of
// cached responses is bounded, so that a long run does not measure a growing heap. The oldest response is evicted
// first.
const MAX_ANSWERS = 20_000

const rows = new Map()
const answers = new Map()

const store = (key) => (key.startsWith('cache/') ? answers : rows)

async function put(key, request) {
  const value = await request.arrayBuffer()
  store(key).set(key, value)
  if (answers.size > MAX_ANSWERS) answers.delete(answers.keys().next().value)
  return new Response(null)
}

function get(key) {
  const value = store(key).get(key)
  return new Response(value ?? null, { status: value === undefined ? 404 : 200 })
}

export default {
  fetch(request) {
    const key = decodeURIComponent(new URL(request.url).pathname.slice(1))
    if (request.method === 'PUT') return put(key, request)
    if (request.method === 'GET') return get(key)
    store(key).delete(key)
    return new Response(null)
  },
}
