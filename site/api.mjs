// Makes the pages about the API from docs/openapi.yaml: an overview, a page for each tag, and one with all schemas.
import GithubSlugger, { slug } from 'github-slugger'
import { body, cell, limits, SCHEMAS, schemaSections } from './schema.mjs'
import { API } from './sources.mjs'
import { resolve, spec } from './spec.mjs'

const METHODS = ['get', 'post', 'put', 'patch', 'delete']

/**
 * Returns the pages: {label, address, text}. The text is Markdown with a title, as if it were a document next to
 * docs/openapi.yaml.
 */
export function apiPages() {
  const tags = spec.tags.map((tag) => ({
    label: tag.name,
    address: `${API}${slug(tag.name)}/`,
    text: tagText(tag),
  }))
  return [
    { label: 'Overview', address: API, text: overview() },
    ...tags,
    { label: 'Schemas', address: SCHEMAS, text: `# Schemas\n\n${schemaSections()}` },
  ]
}

/** Returns the operations of a tag: {method, path, operation, anchor}. `anchor` is the anchor of its heading. */
function operations(tag) {
  const slugger = new GithubSlugger()
  return Object.entries(spec.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]?.tags.includes(tag)).map((method) => ({
      method: method.toUpperCase(),
      path,
      operation: {
        ...item[method],
        parameters: [...(item.parameters ?? []), ...(item[method].parameters ?? [])].map(resolve),
      },
      anchor: slugger.slug(item[method].summary),
    })),
  )
}

function overview() {
  const parts = [
    `# API\n\n${spec.info.description}\nThe gateway serves the description that these pages are made from at \`/openapi.yaml\`.\n`,
  ]
  for (const { name } of spec.tags) {
    parts.push(`## ${name}\n\n| Endpoint | |\n|---|---|`)
    const rows = operations(name).map(
      ({ method, path, operation, anchor }) =>
        `| \`${method} ${path}\` | [${cell(operation.summary)}](/docs/${API}${slug(name)}/#${anchor}) |`,
    )
    parts.push(`${rows.join('\n')}\n`)
  }
  return parts.join('\n')
}

function tagText(tag) {
  const sections = operations(tag.name).map(operationText)
  return `# ${tag.name}\n\n${tag.description}\n\n${sections.join('\n\n')}\n`
}

function operationText({ method, path, operation }) {
  return [
    `## ${operation.summary}\n\n\`${method} ${path}\``,
    operation.description ?? '',
    authentication(operation),
    parameterTable(operation.parameters),
    requestText(operation.requestBody),
    responseText(operation.responses),
  ]
    .filter(Boolean)
    .join('\n\n')
}

/** Lists the alternative credentials of an operation. Each is named by its header or cookie. */
function authentication(operation) {
  const names = (operation.security ?? []).flatMap(Object.keys)
  const places = names.map((name) => {
    const scheme = spec.components.securitySchemes[name]
    return scheme.type === 'http' ? 'the header `Authorization: Bearer …`' : `the ${scheme.in} \`${scheme.name}\``
  })
  return `**Credentials:** ${places.length > 0 ? [...new Set(places)].join(', or ') : 'none'}.`
}

function parameterTable(parameters) {
  if (parameters.length === 0) return ''
  const rows = parameters.map((p) => {
    const schema = resolve(p.schema) ?? {}
    const meaning = `${p.description ?? schema.description ?? ''}${limits(schema)}`
    return `| \`${p.name}\` | ${p.in}${p.required ? ', required' : ''} | ${cell(meaning)} |`
  })
  return `| Parameter | In | Meaning |\n|---|---|---|\n${rows.join('\n')}`
}

function requestText(request) {
  if (!request) return ''
  const { description, content } = resolve(request)
  return ['**Body**', description, ...Object.entries(content).map(([type, media]) => mediaText(type, media))]
    .filter(Boolean)
    .join('\n\n')
}

/** Describes the fields of a body, and adds its first example. */
function mediaText(type, media) {
  const example = media.example ?? Object.values(media.examples ?? {}).map(resolve)[0]?.value
  const shown = type.endsWith('json') ? JSON.stringify(example, null, 1) : example
  const code =
    example === undefined ? '' : `\`\`\`${type.endsWith('json') ? 'json' : 'txt'}\n${String(shown).trimEnd()}\n\`\`\``
  return [media.schema ? body(type, media.schema) : `\`${type}\``, code].filter(Boolean).join('\n\n')
}

function responseText(responses) {
  const all = Object.entries(responses).map(([status, response]) => [status, resolve(response)])
  const [status, success] = all.find(([code]) => code.startsWith('2')) ?? []
  const rows = all.map(([code, { description }]) => `| ${code} | ${cell(description)} |`)
  const parts = [`| Status | Meaning |\n|---|---|\n${rows.join('\n')}`]
  if (success?.content)
    parts.push(
      `**Body of ${status}**`,
      ...Object.entries(success.content).map(([type, media]) => mediaText(type, media)),
    )
  const headers = Object.keys(success?.headers ?? {}).map((name) => `\`${name}\``)
  if (headers.length > 0) parts.push(`**Headers of ${status}:** ${headers.join(', ')}.`)
  return parts.join('\n\n')
}
