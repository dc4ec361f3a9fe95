// Help links: [label, href].
const REPOSITORY = 'https://github.com/postern-ai/postern'

export const HELP = [
  ['Documentation', `${REPOSITORY}#readme`],
  ['Adding models', `${REPOSITORY}/blob/main/docs/models.md`],
  ['OpenAPI spec', '/openapi.yaml'],
]
