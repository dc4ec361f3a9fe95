// Help links: [label, href]. The gateway serves the documentation of its own version.

export const DOCS = '/docs/'

/** The documentation of the Governor’s rules and risk score. */
export const GOVERNOR_DOCS = '/docs/guides/governor/'

/** The documentation of where requests without a known key are counted. */
export const UNKNOWN_KEYS_DOCS = '/docs/reference/usage-reports/#requests-without-a-known-key'

/** The documentation of an error’s code. */
export const errorDocs = (code) => `/docs/reference/errors/#${code}`

export const HELP = [
  ['Documentation', DOCS],
  ['Adding models', '/docs/reference/models/'],
  ['OpenAPI spec', '/openapi.yaml'],
]
