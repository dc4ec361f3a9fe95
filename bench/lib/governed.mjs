// The same requests with the Governor and without it, in the same gateway: a prompt of 8 KB with a streamed response
// of 4 KB, and a stream of 500 chunks.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gatewayConfig, plant } from './gateway.mjs'
import { CONNECTIONS, interleave, median, ratio } from './load.mjs'
import { ROUNDS } from './options.mjs'
import { cpuSeconds, ROOT, stop } from './process.mjs'
import { perSecond, row } from './table.mjs'
import { serve } from './workerd.mjs'

const PROMPT_BYTES = 8 << 10
const CASES = [
  ['8 KB prompt, 4 KB streamed answer', 'passage', 100, 20],
  ['stream of 500 chunks', 'burst', 500, 5],
]
const prose = readFileSync(join(ROOT, 'CONTRIBUTING.md'), 'utf8').replaceAll(/[^ -~]/g, ' ')

/** Reads one stream to its end. */
async function read(url, key, prompt, chunks) {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key, 'cache-control': 'no-store' },
    body: JSON.stringify({ model: 'gpt-4.1-mini', stream: true, messages: [{ role: 'user', content: prompt }] }),
  })
  const text = await response.text()
  const seen = text.split('"content":"').length - 1
  if (response.status !== 200 || seen < chunks || !text.endsWith('data: [DONE]\n\n')) {
    throw new Error(`${response.status}, ${seen} chunks of ${chunks}`)
  }
  return response.headers.has('x-postern-governor')
}

/** One round of requests on all connections. CPU time is that of the entire process. */
async function round(gateway, key, governed, [, word, chunks, requests], name) {
  const before = cpuSeconds(gateway.child)
  const start = performance.now()
  const connection = async (_, i) => {
    for (let n = 0; n < requests; n++) {
      const prompt = word === 'passage' ? prose.slice(0, PROMPT_BYTES) : ''
      const checked = await read(gateway.urls.gateway, key, `${word} ${name} ${i} ${n} ${prompt}`, chunks)
      if (checked !== governed) throw new Error(`governed: ${checked}, expected ${governed}`)
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, connection))
  const done = CONNECTIONS * requests
  return {
    perSecond: (done * 1000) / (performance.now() - start),
    cpuMs: ((cpuSeconds(gateway.child) - before) * 1000) / done,
  }
}

/** The rows for throughput and CPU time. */
export async function governed(parts, upstreamURL, seed) {
  const gateway = await serve(gatewayConfig('governed-gateway', parts, upstreamURL))
  await plant(gateway.urls, seed.bench, seed.governed)
  const rows = []
  for (const one of CASES) {
    const contenders = [
      (n) => round(gateway, seed.governed.keys[0], true, one, n),
      (n) => round(gateway, seed.bench.keys[0], false, one, n),
    ]
    for (const contend of contenders) await contend('warm')
    const [on, off] = await interleave(ROUNDS, contenders)
    const cpu = (results) => `${median(results.map((r) => r.cpuMs)).toFixed(2)} ms`
    const rate = (results) => perSecond(median(results.map((r) => r.perSecond)))
    const [name, word] = one
    const [least, most] = word === 'passage' ? [0.95, undefined] : [undefined, 1.1]
    rows.push(
      row(
        `Governor on, ${name}, against off`,
        rate(on),
        rate(off),
        ratio(on, off, (r) => r.perSecond),
        { least },
      ),
      row(
        `Governor on, ${name}, against off: CPU`,
        cpu(on),
        cpu(off),
        ratio(on, off, (r) => r.cpuMs),
        { most },
      ),
    )
  }
  await stop(gateway.child)
  return rows
}
