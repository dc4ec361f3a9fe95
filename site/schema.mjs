// Converts JSON Schemas to Markdown: a table of fields in which named schemas are links.
import { slug } from 'github-slugger'
import { API } from './sources.mjs'
import { resolve, spec } from './spec.mjs'

/** The address of the page with all named schemas. */
export const SCHEMAS = `${API}schemas/`

/** The depth to which nested fields are rows of the same table. */
const DEPTH = 3

/** Returns a section for each named schema. */
export function schemaSections() {
  return Object.entries(spec.components.schemas)
    .map(([name, schema]) => `## ${name}\n\n${whole(schema)}`)
    .join('\n\n')
}

/** Describes a body. The fields of a named schema are repeated with the body, because readers look for them there. */
export function body(type, schema) {
  const [name] = nameOf(schema) ?? []
  const resolved = resolve(schema)
  const head = name ? `\`${type}\`: ${typeOf(schema)}` : `\`${type}\``
  return resolved.properties
    ? `${head}\n\n${table(resolved)}`
    : [head, name ? '' : whole(schema)].filter(Boolean).join('\n\n')
}

/** Returns text for a table cell: on one line, and with `|` escaped, because it would end the cell. */
export function cell(text) {
  return String(text)
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replaceAll('|', '\\|')
}

function whole(schema) {
  const description = schema.description ?? ''
  if (schema.properties) return `${description}\n\n${table(schema)}`.trim()
  return `${description}\n\n${typeOf(schema)}${limits(schema)}`.trim()
}

function table(schema) {
  return `| Member | Type | Meaning |\n|---|---|---|\n${rows(schema, '', 1).join('\n')}`
}

function rows(schema, prefix, depth) {
  return Object.entries(schema.properties).flatMap(([name, member]) => {
    if (member === false || member.not) return []
    const required = schema.required?.includes(name) ? ', required' : ''
    const meaning = `${resolve(member).description ?? ''}${limits(member)}`
    const row = `| \`${prefix}${name}\` | ${cell(typeOf(member))}${required} | ${cell(meaning)} |`
    const inner = member.properties ? member : member.items?.properties ? member.items : undefined
    const path = `${prefix}${name}${inner === member ? '' : '[]'}.`
    return [row, ...(inner && depth < DEPTH ? rows(inner, path, depth + 1) : [])]
  })
}

/** Returns the name of the schema that a reference points to, and the field if it points to one. */
function nameOf(schema) {
  return schema.$ref?.match(/^#\/components\/schemas\/([^/]+)(?:\/properties\/([^/]+))?$/)?.slice(1)
}

/** Returns the type in words: `string`, `array of Message`, or alternatives. */
function typeOf(schema) {
  if (typeof schema === 'boolean') return 'anything'
  const [name, member] = nameOf(schema) ?? []
  if (name) return `[${member ? `${name}.${member}` : name}](/docs/${SCHEMAS}#${slug(name)})`
  const alternatives = schema.oneOf ?? schema.anyOf
  if (alternatives) return [...new Set(alternatives.map(typeOf))].join(' or ')
  if (schema.allOf) return schema.allOf.map(typeOf).join(' and ')
  if ('const' in schema) return `\`${JSON.stringify(schema.const)}\``
  const types = [schema.type ?? (schema.properties ? 'object' : 'anything')].flat()
  return types
    .map((type) => (type === 'array' && schema.items ? `array of ${typeOf(schema.items)}` : type))
    .join(' or ')
}

/** Describes a value's limits in sentences with a space before them. Returns an empty string if there are none. */
export function limits(schema) {
  if (typeof schema === 'boolean') return ''
  const code = (value) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
  const said = []
  if (schema.enum) said.push(`One of ${schema.enum.map(code).join(', ')}.`)
  if ('default' in schema) said.push(`Default: ${code(schema.default)}.`)
  said.push(
    range(schema.minimum, schema.maximum, ''),
    range(schema.minLength, schema.maxLength, ' characters'),
    range(schema.minItems, schema.maxItems, ' items'),
  )
  if (schema.pattern) said.push(`Pattern: \`${schema.pattern}\`.`)
  const text = said.filter(Boolean).join(' ')
  return text && ` ${text}`
}

function range(least, most, unit) {
  if (least === undefined && most === undefined) return ''
  const number = (value) => value.toLocaleString('en')
  if (most === undefined) return unit && least < 2 ? '' : `At least ${number(least)}${unit}.`
  return least === undefined || (unit && least < 2)
    ? `At most ${number(most)}${unit}.`
    : `${number(least)} to ${number(most)}${unit}.`
}
