// Creates the demo project and its keys through the admin API.
import { setTimeout as sleep } from 'node:timers/promises'
import { BASE_URL } from './files.mjs'

const READY_TIMEOUT_MS = 30_000
const CALL_TIMEOUT_MS = 10_000
const POLL_MS = 250

const DEMO = 'Demo'
const GATEWAY_KEY = { name: 'Demo gateway key', kind: 'gateway', environment: 'development' }
const PROJECT_KEY = { name: 'Demo project key', kind: 'project', environment: 'development' }

/**
 * Returns the demo project's keys. Keys from the last run are reused if they still work, and otherwise replaced. The
 * argument is the result of files.readSecrets with the current adminToken. The return value has the same shape.
 */
export async function demoKeys({ adminToken, projectId, gatewayKey, projectKey }) {
  const admin = new Admin(adminToken)
  await patiently(() => admin.call('GET', '?limit=1')) // The gateway is ready slightly before the control Worker.
  const [gatewayWorks, projectWorks] = [await works(gatewayKey, projectId), await works(projectKey, projectId)]
  const id = gatewayWorks || projectWorks ? projectId : await demoProject(admin, projectId)
  return {
    adminToken,
    projectId: id,
    gatewayKey: gatewayWorks ? gatewayKey : await newKey(admin, id, GATEWAY_KEY, gatewayKey),
    projectKey: projectWorks ? projectKey : await newKey(admin, id, PROJECT_KEY, projectKey),
  }
}

/** Retries a read-only call until it succeeds or READY_TIMEOUT_MS has passed. */
async function patiently(call) {
  for (const end = performance.now() + READY_TIMEOUT_MS; ; await sleep(POLL_MS)) {
    try {
      return await call()
    } catch (error) {
      if (performance.now() > end) throw error
    }
  }
}

/** Reports whether a key authenticates for a project. */
function works(key, projectId) {
  if (key === undefined) return false
  return patiently(async () => {
    const response = await fetch(`${BASE_URL}/api/health`, {
      headers: { 'x-api-key': key },
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    })
    const text = await response.text()
    if (response.status === 401) return false
    if (!response.ok) throw new Error(`GET /api/health: ${response.status} ${text}`)
    return JSON.parse(text).project_id === projectId
  })
}

/**
 * Returns the ID of the last run's project if it still exists. Otherwise, returns the ID of an active project named
 * Demo, and creates the project if needed.
 */
async function demoProject(admin, projectId) {
  const projects = (await admin.all('', 'projects')).filter(({ status }) => status === 'active')
  const project = projects.find(({ id }) => id === projectId) ?? projects.find(({ name }) => name === DEMO)
  if (project !== undefined) return project.id
  const { id } = await admin.call('POST', '', { name: DEMO, plan: 'developer' })
  await admin.call('PUT', `/${id}/governor`, { enabled: true })
  return id
}

/**
 * Creates a key and returns its value. Inactive keys with the same name are deleted. Active keys with that name are
 * deleted only if the value of our key was lost. If our key was not lost, they belong to the user.
 */
async function newKey(admin, projectId, fields, remembered) {
  const path = `/${projectId}/keys`
  for (const { id, name, status } of await admin.all(path, 'keys')) {
    const useless = status !== 'active' || remembered === undefined
    if (name === fields.name && useless) await admin.call('DELETE', `${path}/${id}`)
  }
  return (await admin.call('POST', path, fields)).value
}

/** A client of the admin API's projects. */
class Admin {
  #token

  constructor(token) {
    this.#token = token
  }

  /** Sends one request. Throws if the response is not a success. */
  async call(method, path, body) {
    const response = await fetch(`${BASE_URL}/api/admin/projects${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' },
      body: body && JSON.stringify(body),
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} /api/admin/projects${path}: ${response.status} ${text}`)
    return text === '' ? undefined : JSON.parse(text)
  }

  /** Returns the items of all pages of a list. */
  async all(path, field) {
    const items = []
    for (let after = ''; ; ) {
      const page = await this.call('GET', `${path}?limit=100${after}`)
      items.push(...page[field])
      if (page.next === null) return items
      after = `&after=${page.next}`
    }
  }
}
