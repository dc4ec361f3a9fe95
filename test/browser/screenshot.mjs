// Writes docs/overview.png, the dashboard's overview of a month of traffic.
//
// All data comes from requests through the gateway to the fake provider. The Workers' clock is set to one day of the
// month after another, so that the month takes a minute or two. The traffic is the same in every run. Only latencies
// vary.
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp' // a dependency of miniflare
import { launchChromium } from './browser.mjs'
import { launchService, until } from './service.mjs'
import { ROOT } from './workers.mjs'

const FILE = join(ROOT, 'docs/overview.png')
const MAX_BYTES = 120_000
const VIEWPORT = { width: 1280, height: 1000 }
const MARGIN = 10 // pixels below the last card
const YEAR = 2026
const MONTH = 10 // November, counted from 0
const TODAY = 20 // the last day with traffic, which must be in the past because the platform's alarms use the real clock
const HOUR = 15
const CONCURRENT = 12
const FAILED_EVERY = 101 // one of this many requests fails
const BUDGET = 25

const KEYS = ['Web app', 'Support bot', 'Nightly batch']

/** Each model's requests per day and typical request: its tokens, the cached part of its input, its latency. */
const TRAFFIC = [
  {
    model: 'gpt-4.1-mini',
    family: 'openai',
    perDay: 20,
    input: 5200,
    output: 1450,
    cached: 0.3,
    latencyMs: 180,
    keys: [0, 1],
  },
  {
    model: 'claude-opus-5-5',
    family: 'anthropic',
    perDay: 10,
    input: 6400,
    output: 1700,
    cached: 0.55,
    latencyMs: 400,
    keys: [1, 0],
  },
  { model: 'gpt-4.1', family: 'openai', perDay: 7, input: 5600, output: 1500, cached: 0.25, latencyMs: 290, keys: [0] },
  {
    model: 'gemini-2.5-flash',
    family: 'gemini',
    perDay: 9,
    input: 9800,
    output: 2200,
    cached: 0.2,
    latencyMs: 230,
    keys: [2],
  },
]

/**
 * Response bodies with the given token counts, by the provider's API. read is the number of input tokens that came
 * from its prompt cache, and written the number that it wrote to the cache.
 */
const BODIES = {
  openai: ({ input, output, read }) => ({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1790000000,
    model: 'any',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
    usage: {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: read },
    },
  }),
  anthropic: ({ input, output, read, written }) => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'any',
    content: [{ type: 'text', text: 'Done.' }],
    stop_reason: 'end_turn',
    stop_sequence: null,
    usage: {
      input_tokens: input - read - written,
      output_tokens: output,
      cache_read_input_tokens: read,
      cache_creation_input_tokens: written,
    },
  }),
  gemini: ({ input, output, read }) => ({
    candidates: [{ content: { role: 'model', parts: [{ text: 'Done.' }] }, finishReason: 'STOP', index: 0 }],
    usageMetadata: {
      promptTokenCount: input,
      candidatesTokenCount: output,
      totalTokenCount: input + output,
      cachedContentTokenCount: read,
    },
  }),
}

/** The Workers' variables: the built-in catalog, with three providers that point to the fake one. */
function variables(upstream, tokens) {
  const gateway = {
    POSTERN_MASTER_KEYS: tokens.master,
    OPENAI_BASE_URL: `${upstream}/v1`,
    OPENAI_API_KEY: 'sk-upstream',
    ANTHROPIC_BASE_URL: `${upstream}/v1`,
    ANTHROPIC_API_KEY: 'sk-upstream',
    GEMINI_BASE_URL: `${upstream}/v1beta`,
    GEMINI_API_KEY: 'sk-upstream',
  }
  return { gateway, control: { POSTERN_MASTER_KEYS: tokens.master, POSTERN_ADMIN_TOKEN: tokens.owner } }
}

/** A seeded random number generator (mulberry32) with numbers in [0, 1). */
function random(seed) {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

const next = random(20261101)
const about = (number) => Math.round(number * (0.7 + 0.6 * next()))

/** The tokens of one request. A tenth of the cached input is written. */
function tokens(typical) {
  const [input, output] = [about(typical.input), about(typical.output)]
  const cached = Math.round(input * typical.cached)
  const written = Math.round(cached / 10)
  return { input, output, written, read: cached - written }
}

const timeOf = (day) => Date.UTC(YEAR, MONTH, day, HOUR)

async function post(url, body) {
  const response = await fetch(url, { method: 'POST', body })
  assert.equal(response.status, 204, `${url}: ${await response.text()}`)
}

/** Runs tasks, at most CONCURRENT at a time. */
async function runAll(tasks) {
  const queue = tasks.values()
  await Promise.all(
    Array.from({ length: CONCURRENT }, async () => {
      for (const task of queue) await task()
    }),
  )
}

class Month {
  #service
  #keys
  #messages = 0
  #responses = 0
  requests = 0

  constructor(service, keys) {
    this.#service = service
    this.#keys = keys
  }

  /** Sends a day's requests: new ones to each model, then repeats, which the cache serves. */
  async sendDay(day) {
    await post(`${this.#service.url}/__clock`, String(timeOf(day)))
    const weekend = [0, 6].includes(new Date(timeOf(day)).getUTCDay())
    const load = (weekend ? 0.35 : 1) * (0.75 + day / 60) * (0.85 + 0.3 * next())
    for (const traffic of TRAFFIC) await this.#sendTo(traffic, Math.max(1, Math.round(traffic.perDay * load)))
  }

  async #sendTo(traffic, count) {
    const messages = Array.from({ length: count }, () => `Request ${++this.#messages}`)
    for (const _ of messages) await this.#queueResponse(traffic)
    const served = await this.#sendAll(traffic, messages)
    await this.#sendAll(traffic, served.slice(0, Math.round(count * (0.15 + 0.2 * next()))))
  }

  /** Queues the fake provider's next response. */
  async #queueResponse({ family, latencyMs, ...typical }) {
    const good = {
      kind: 'late-head',
      delayMs: Math.round(latencyMs * (0.6 + next() ** 3 * 2.2)),
      body: JSON.stringify(BODIES[family](tokens(typical))),
    }
    const failed = ++this.#responses % FAILED_EVERY === 0
    const behavior = failed ? { kind: 'status', status: 400 } : good
    await post(`${this.#service.upstream}/__fake/next`, JSON.stringify({ ...behavior, family }))
  }

  /** Sends the messages and returns those with a successful response. */
  async #sendAll({ model, keys }, messages) {
    const served = []
    const tasks = messages.map((message, i) => async () => {
      if (await this.#send(this.#keys[keys[i % keys.length]], model, message)) served.push(message)
    })
    await runAll(tasks)
    return served
  }

  async #send(key, model, content) {
    this.requests++
    const response = await this.#service.fetch('/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key.value}` },
      body: JSON.stringify({ model, max_tokens: 4000, messages: [{ role: 'user', content }] }),
    })
    const text = await response.text()
    assert.ok(response.status === 200 || response.status === 400, `${model}: ${response.status} ${text}`)
    return response.status === 200
  }
}

/** Sends a month of traffic and waits until all of it is reported. Returns the project. */
async function seed(service) {
  await post(`${service.url}/__clock`, String(timeOf(1)))
  const project = await service.project({ name: 'Acme Support', plan: 'unlimited', budget: BUDGET })
  const keys = []
  for (const name of KEYS) keys.push(await service.key(project, { name }))
  const month = new Month(service, keys)
  const reported = async () => {
    const { totals } = await service.get(`projects/${project.id}/usage?from=2026-11-01&to=2026-11-30`)
    return totals.requests === month.requests
  }
  for (let day = 1; day <= TODAY; day++) {
    await month.sendDay(day)
    await until(`all requests of day ${day} are reported`, reported, 60_000) // a lease that is not reported today would be lost tomorrow
  }
  return project
}

/** A PNG of the project's overview, down to the usage by model. */
async function capture(service, project) {
  const browser = await launchChromium()
  try {
    const context = await browser.newContext({
      baseURL: service.url,
      viewport: VIEWPORT,
      colorScheme: 'light',
      reducedMotion: 'reduce',
    })
    await context.addCookies([await service.cookie('owner')])
    const page = await context.newPage()
    await page.clock.setFixedTime(timeOf(TODAY))
    await page.goto(`/dashboard/projects/${project.id}`)
    await page.getByRole('table', { name: 'Usage by model' }).waitFor()
    await page.locator('.skeleton, [aria-busy=true]').first().waitFor({ state: 'detached' })
    const box = await page.getByRole('region', { name: 'By model' }).boundingBox()
    await page.setViewportSize({ ...VIEWPORT, height: Math.ceil(box.y + box.height) + MARGIN })
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
    return await page.screenshot()
  } finally {
    await browser.close()
  }
}

const service = await launchService(variables, {
  entries: { gateway: 'test/browser/clock/gateway.mjs', control: 'test/browser/clock/control.mjs' },
})
try {
  const image = await capture(service, await seed(service))
  await sharp(image).png({ palette: true, dither: 0, effort: 10 }).toFile(FILE)
} finally {
  await service.stop()
}
const { size } = statSync(FILE)
console.log(`docs/overview.png: ${Math.round(size / 1000)} KB`)
assert.ok(size <= MAX_BYTES, `docs/overview.png is larger than ${MAX_BYTES / 1000} KB`)
