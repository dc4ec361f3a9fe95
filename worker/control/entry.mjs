// The entry of the control Worker. One Go instance serves all requests of an isolate.
//
// The library would create one instance per request. Each costs 9 ms of CPU and 6 MB, and their number has no limit.
// One instance is correct because a request waits only for its own promises. Go runs when JavaScript calls into it on
// behalf of one request. It runs until every goroutine waits again. A goroutine is therefore woken by its own
// request's promises, and its I/O is made on behalf of that request. For this, requests must not share channels,
// timers, or locks that are held across I/O, and they do not. A pool with a queue would be wrong here: a queued
// request would wait for another request, and if a request has no I/O of its own, the platform treats it as hung.
import '../../build/control/wasm_exec.js'
import module from '../../build/control/app.wasm'
import { withAddress } from './address.mjs'
import { unavailable } from './unavailable.mjs'

const CALL_TIMEOUT_MS = 10_000
const FETCH_TIMEOUT_MS = 10_000
const NONCE_BYTES = 12
// Wasm memory never shrinks, and two instances must fit into the isolate's 128 MiB.
const MEMORY_CEILING_BYTES = 48 << 20

let current

export default {
  async fetch(request, env) {
    try {
      return await running(env).handle(withAddress(request))
    } catch (error) {
      // The error's text is not logged because it may contain a secret. The Go program logs its own end.
      console.error(JSON.stringify({ level: 'error', code: 'control_failed', cause: error?.name }))
      return unavailable(request)
    }
  },
  async scheduled(event, env) {
    await running(env).runScheduler(event)
  },
}

// Returns the instance to use. If an instance has ended or outgrown its memory, a new one replaces it. The old one
// finishes the requests that it already has.
function running(env) {
  if (current === undefined || current.ended || current.memory.buffer.byteLength > MEMORY_CEILING_BYTES) {
    current = new Instance(env)
  }
  return current
}

class Instance {
  ended = false
  #binding = {}
  #rejects = new Set()

  constructor(env) {
    const go = new globalThis.Go()
    let ready = false
    const workers = {
      ready: () => {
        ready = true
      },
    }
    const instance = new WebAssembly.Instance(module, { ...go.importObject, workers })
    this.memory = instance.exports.mem
    go.exit = (code) => this.#end(`exit code ${code}`)
    // After a trap, the state of the program is inconsistent, so it must not continue.
    const resume = go._resume
    go._resume = () => {
      try {
        resume.call(go)
      } catch (error) {
        this.#end(String(error))
        throw error
      }
    }
    // Runs main until it waits. This happens before go.run returns, so no request waits while another request starts
    // the program.
    go.run(instance, { env, binding: this.#binding, ...helpers(env) })
    if (!ready) throw new Error('the Go program did not start')
  }

  handle(request) {
    return this.#unlessEnded(() => this.#binding.handleRequest(request))
  }

  runScheduler(event) {
    return this.#unlessEnded(() => this.#binding.runScheduler(event))
  }

  #unlessEnded(run) {
    return new Promise((resolve, reject) => {
      this.#rejects.add(reject)
      run()
        .then(resolve, reject)
        .finally(() => this.#rejects.delete(reject))
    })
  }

  // After its start, the program ends only because of a fault from which no handler can recover, such as a stack
  // overflow or exhausted memory. Its pending requests would then wait forever.
  #end(cause) {
    this.ended = true
    for (const reject of this.#rejects) reject(new Error(`the Go program ended: ${cause}`))
  }
}

// Functions that the Go program calls. Each returns a promise.
function helpers(env) {
  return {
    callObject: callObject.bind(undefined, env),
    fetchSmall,
    seal,
    sleep,
    readAsset: env.ASSETS && readAsset.bind(undefined, env.ASSETS),
    putExport: env.EXPORTS && ((name, body) => env.EXPORTS.put(name, body)),
  }
}

// Sends a command to an object near region and returns its reply. It does not retry: if a commit has succeeded, a
// second one would conflict with it.
async function callObject(env, binding, name, region, command) {
  const namespace = env[binding]
  const id = namespace.idFromName(name)
  const stub = region === '' ? namespace.get(id) : namespace.get(id, { locationHint: region })
  const response = await stub.fetch('http://object/', {
    method: 'POST',
    body: command,
    signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`the object responded with ${response.status}`)
  }
  return new Uint8Array(await response.arrayBuffer())
}

// Returns a file from the folder "assets" of build.sh, or null if there is none. The names need no escaping.
async function readAsset(assets, name) {
  const response = await assets.fetch(`http://assets/${name}`, { signal: AbortSignal.timeout(CALL_TIMEOUT_MS) })
  if (response.status === 200) return new Uint8Array(await response.arrayBuffer())
  await response.body?.cancel()
  if (response.status === 404) return null
  throw new Error(`unexpected status ${response.status}`)
}

// Returns the body of a 200, which has at most maxBytes, or throws.
async function fetchSmall(url, maxBytes) {
  const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) })
  if (response.status !== 200 || response.body === null) {
    await response.body?.cancel()
    throw new Error(`unexpected status ${response.status}`)
  }
  const body = new Uint8Array(maxBytes)
  let length = 0
  for await (const chunk of response.body) {
    if (length + chunk.byteLength > maxBytes) throw new Error(`the response exceeds ${maxBytes} bytes`)
    body.set(chunk, length)
    length += chunk.byteLength
  }
  return body.subarray(0, length)
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

// Encrypts with AES-256-GCM and returns nonce, ciphertext and tag.
async function seal(rawKey, additionalData, plaintext) {
  const key = await crypto.subtle.importKey('raw', rawKey, 'AES-GCM', false, ['encrypt'])
  const iv = crypto.getRandomValues(new Uint8Array(NONCE_BYTES))
  const sealed = await crypto.subtle.encrypt({ name: 'AES-GCM', iv, additionalData }, key, plaintext)
  const whole = new Uint8Array(NONCE_BYTES + sealed.byteLength)
  whole.set(iv)
  whole.set(new Uint8Array(sealed), NONCE_BYTES)
  return whole
}
