// Help links: [label, href].
const REPOSITORY = 'https://github.com/postern-ai/postern'

/** The description of the Governor’s rules and risk score. */
export const GOVERNOR_DOCS = `${REPOSITORY}/blob/main/docs/guides/governor.md`

/** Where requests without a known key are counted. */
export const UNKNOWN_KEYS_DOCS = `${REPOSITORY}/blob/main/docs/operate/metrics.md#what-became-of-the-requests`

export const HELP = [
  ['Documentation', `${REPOSITORY}#readme`],
  ['Adding models', `${REPOSITORY}/blob/main/docs/reference/models.md`],
  ['OpenAPI spec', '/openapi.yaml'],
]
