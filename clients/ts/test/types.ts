// What the type checker must accept and refuse. `tsc -p clients/ts` checks this file, but it never runs.
import {
  type APIPromise,
  type AvailableModel,
  type BillOfMaterials,
  type ChatEvent,
  type Completion,
  type Finding,
  Postern,
  PosternError,
  RateLimitError,
  type SeenModel,
  type StandardSchema,
  type ValidatedChatStream,
  type ValidatedCompletion,
  type Violation,
  verifyWebhook,
} from '../src/index.js'

/** Compiles only if two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const same = <A, B>(_: Same<A, B>) => {}

declare const city: StandardSchema<{ city: string }>
const postern = new Postern({ apiKey: 'sk_test_a', timeout: undefined, governor: { strictMode: true } })
const messages = [{ role: 'user' as const, content: 'Hello!' }]

export async function accepted(): Promise<void> {
  same<Awaited<ReturnType<typeof postern.health.get>>['projectId'], string>(true)
  const plain = postern.ai.complete({ messages })
  await postern.ai.chat({ messages: Object.freeze(messages) })
  await postern.governor.validate({ messages: Object.freeze(messages) })
  same<typeof plain, APIPromise<Completion>>(true)
  const typed = postern.ai.complete({ messages, schema: city })
  await postern.ai.complete({
    messages: [
      { role: 'user', content: [{ type: 'image', imageUrl: 'https://example.com/a.png' }] },
      { role: 'assistant', toolCalls: (await plain).toolCalls },
      { role: 'tool', toolCallId: 'call_1', content: 'rain' },
    ],
    model: 'claude-sonnet-4-6',
    tools: [{ name: 'weather' }],
    toolChoice: { name: 'weather' },
  })
  same<Awaited<ReturnType<typeof postern.ai.embed>>['embeddings'], number[][]>(true)
  same<typeof typed, APIPromise<ValidatedCompletion<{ city: string }>>>(true)
  const validated = await postern.ai.chat({ messages, schema: city })
  same<typeof validated, ValidatedChatStream<{ city: string }>>(true)
  same<Awaited<ReturnType<typeof validated.data>>, { city: string }>(true)
  same<Awaited<ReturnType<typeof validated.final>>['data'], { city: string }>(true)
  const tools = [{ name: 'weather' }]
  const called = await postern.ai.complete({ messages, schema: city, tools })
  same<typeof called.data, { city: string } | undefined>(true)
  const streamed = await postern.ai.chat({ messages, schema: city, tools })
  same<typeof streamed, ValidatedChatStream<{ city: string } | undefined>>(true)
  same<Awaited<ReturnType<typeof postern.models.available>>, AvailableModel[]>(true)
  same<Awaited<ReturnType<typeof postern.ai.countTokens>>['promptTokens'], number>(true)
  const { data, meta } = await plain.withResponse()
  same<typeof data, Completion>(true)
  const cost: number | null = meta.costCents
  for await (const event of await postern.ai.chat({ messages }, { signal: AbortSignal.timeout(cost ?? 5) })) {
    same<typeof event, ChatEvent>(true)
    if (event.type === 'delta') event.text.trim()
    else if (event.type === 'toolCall') same<typeof event.name, string>(true)
    else if (event.type === 'done') event.usage.costCents.toFixed(2)
  }
  for await (const event of postern.ai.chat({ messages })) same<typeof event, ChatEvent>(true)
  for await (const violation of postern.violations.list({ from: new Date(0) })) same<typeof violation, Violation>(true)
  const page = await postern.models.list({ state: 'approved' })
  same<typeof page.items, SeenModel[]>(true)
  same<typeof page.enforcement, 'off' | 'warn' | 'enforce'>(true)
  const next = await page.nextPage()
  same<typeof next, typeof page | null>(true)
  for await (const line of postern.compliance.export()) if (!line.record) same<typeof line.linesHash, string>(true)
  same<Awaited<ReturnType<typeof postern.compliance.bom>>, BillOfMaterials>(true)
  const one = await postern.governor.validate({ text: 'a' })
  same<typeof one.redacted, string | null>(true)
  const many = await postern.governor.validate({ texts: ['a'] })
  same<(typeof many.results)[number]['findings'], Finding[]>(true)
  try {
    await postern.violations.update('vio_1', { note: null, version: 1 })
  } catch (error) {
    if (error instanceof RateLimitError) same<typeof error.retryAfterMs, number | null>(true)
    if (error instanceof PosternError) same<ReturnType<typeof error.toJSON>, Record<string, unknown>>(true)
  }
}

export async function acceptedElsewhere(): Promise<void> {
  const client = new Postern({
    apiKey: async () => 'sk_test_a',
    headers: { 'x-team': 'search' },
    query: { tenant: 'a', page: 1 },
    onRequest: ({ headers, attempt }) => headers.set('x-attempt', String(attempt)),
    onResponse: async ({ status, ms }) => console.log(status, ms),
  })
  const any = await client.get('/v1/models', { query: { limit: 1 }, headers: new Headers() })
  same<typeof any, unknown>(true)
  const { data, response } = await client.post<{ id: string }>('/v1/responses', { input: 'Hi' }).withResponse()
  same<typeof data.id, string>(true)
  same<typeof response.body, string | null>(true)
  const event = await verifyWebhook(new Uint8Array(), new Headers(), { secret: ['a', 'b'], toleranceMs: 5 })
  await verifyWebhook('', { 'webhook-id': 'a', cookie: ['a', 'b'], host: undefined })
  if (event.type === 'budget.threshold') same<typeof event.data.thresholdPercent, 80 | 100>(true)
  else if (event.type === 'violation.created') same<typeof event.data.violation, Violation>(true)
  else if (event.type === 'compliance.checkpoint') same<typeof event.data.seq, number>(true)
  else same<typeof event.data, Record<string, unknown>>(true)
  const type: string = event.type
  console.log(type)
}

export async function refused(): Promise<void> {
  // @ts-expect-error: the option is baseURL
  new Postern({ baseUrl: 'http://127.0.0.1:8787' })
  // @ts-expect-error: there are two environments
  new Postern({ environment: 'staging' })
  // @ts-expect-error: messages are required
  await postern.ai.complete({})
  // @ts-expect-error: a tier, not a model
  await postern.ai.complete({ messages, quality: 'gpt-4.1' })
  // @ts-expect-error: a result needs the ID of its call
  await postern.ai.complete({ messages: [{ role: 'tool', content: 'rain' }] })
  // @ts-expect-error: the parameter is maxTokens
  await postern.ai.complete({ messages, max_tokens: 5 })
  // @ts-expect-error: the role does not exist
  await postern.ai.complete({ messages: [{ role: 'robot', content: 'Hello!' }] })
  // @ts-expect-error: a stream without a schema has no data
  ;(await postern.ai.chat({ messages })).data()
  // @ts-expect-error: a completion without a schema has no data
  ;(await postern.ai.complete({ messages })).data
  // @ts-expect-error: the option is timeout
  await postern.health.get({ timeoutMs: 5 })
  // @ts-expect-error: discovered is not a state to change to
  await postern.models.transition('mod_1', { to: 'discovered' })
  // @ts-expect-error: one of text, texts and messages
  await postern.governor.validate({ direction: 'input' })
  // @ts-expect-error: an export is not awaited for its lines
  ;(await postern.compliance.export()).length
  // @ts-expect-error: a key is a text, or a function that returns one
  new Postern({ apiKey: () => 5 })
  // @ts-expect-error: the name of a header is not a value
  await postern.health.get({ headers: ['x-team'] })
  // @ts-expect-error: a webhook's body was not parsed before
  await verifyWebhook({ type: 'budget.threshold' }, new Headers())
  // @ts-expect-error: the key is not readable
  postern.apiKey
  // @ts-expect-error: an ID is required
  await postern.violations.get()
}
