// The client.
import { AI } from './ai.js'
import { Compliance } from './compliance.js'
import { Governor } from './governor.js'
import { Models } from './models.js'
import { type ClientOptions, type Environment, settingsOf } from './options.js'
import { Health, UsageReports } from './reports.js'
import { refuseBrowser } from './runtime.js'
import { type Hooks, Transport } from './transport.js'
import { Violations } from './violations.js'

/** The tests of this package replace the pauses and the random numbers with this option. */
const HOOKS = Symbol.for('@postern-ai/client hooks')

/**
 * A client of a Postern gateway. It has no state besides the project's ID, so one client serves a whole program, also
 * with many calls at a time.
 *
 * ```ts
 * const postern = new Postern() // with POSTERN_API_KEY and POSTERN_BASE_URL
 * ```
 */
export class Postern {
  /** The gateway's URL, without a slash at its end. */
  readonly baseURL: string
  /** The environment of the API key. */
  readonly environment: Environment
  /** Completions. */
  readonly ai: AI
  /** Checks of texts against the project's policy. */
  readonly governor: Governor
  /** Usage reports. */
  readonly usage: UsageReports
  /** Whether the key works. */
  readonly health: Health
  /** Violations of the project's policy. Needs a project key. */
  readonly violations: Violations
  /** The model registry. Needs a project key. */
  readonly models: Models
  /** Compliance data. Needs a project key. */
  readonly compliance: Compliance

  /** Throws a ConfigurationError if an option or a variable is missing or wrong, and in browsers. */
  constructor(options: ClientOptions = {}) {
    refuseBrowser()
    const settings = settingsOf(options)
    const transport = new Transport(settings, (options as { [HOOKS]?: Partial<Hooks> })[HOOKS])
    this.baseURL = settings.baseURL
    this.environment = settings.environment
    this.ai = new AI(transport)
    this.governor = new Governor(transport)
    this.health = new Health(transport)
    this.usage = new UsageReports(transport, this.health)
    this.violations = new Violations(transport)
    this.models = new Models(transport)
    this.compliance = new Compliance(transport)
  }
}
