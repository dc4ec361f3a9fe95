// The Governor's settings as a form draft, and the result of a check as text.
import { typed } from './format.js'
import { numberOf, numberOrNull } from './values.js'

export const ACTIONS = ['allow', 'flag', 'redact', 'block']
export const SEVERITIES = ['low', 'medium', 'high', 'critical']

/** The categories of rules with their labels, in the order of the page. */
export const CATEGORIES = [
  ['secret', 'Secrets'],
  ['personal', 'Personal data'],
  ['injection', 'Prompt injection (heuristics)'],
  ['length', 'Length'],
]

/** The actions that the rules of a category can have. Lengths have no text that could be redacted. */
export function actionsFor(category) {
  return category === 'length' ? ACTIONS.filter((action) => action !== 'redact') : ACTIONS
}

export const ALL_CATEGORIES = [
  'secret',
  'personal',
  'injection',
  'keyword',
  'pattern',
  'length',
  'schema',
  'unchecked',
  'classifier',
]

/** The category of a rule. Rules are named CATEGORY.NAME. */
export const categoryOf = (rule) => rule.split('.', 1)[0]

const NO_SCHEMA = { schema: '', action: 'flag', severity: 'medium' }
const NO_CLASSIFIER = { kind: '', model: '', mode: 'monitor', timeoutMs: '2000', onFailure: 'allow', threshold: '50' }

let nextId = 0

/** An entry in one of the form's lists. Its id never changes, so its inputs survive when another entry is removed. */
export const entryOf = (entry) => ({ id: nextId++, ...entry })

export const newList = () =>
  entryOf({ name: '', severity: 'medium', input: 'flag', output: 'flag', matchCase: false, words: '' })
export const newExemption = () => entryOf({ kind: 'value', text: '', rule: '' })
export const newPattern = () => entryOf({ name: '', pattern: '', severity: 'medium', input: 'flag', output: 'flag' })

/** The settings as a draft of strings and lists. */
export function draftOf(settings) {
  const { answerSchema, classifier } = settings
  return {
    enabled: settings.enabled,
    strictMode: settings.strictMode,
    autoApproveThreshold: typed(settings.autoApproveThreshold),
    reversible: settings.reversible,
    unchecked: settings.unchecked,
    rules: settings.rules,
    keywords: settings.keywords.map((list, id) => ({ id: `saved ${id}`, ...list, words: list.words.join('\n') })),
    patterns: settings.patterns.map((pattern, id) => ({ id: `saved ${id}`, ...pattern })),
    exemptions: settings.exemptions.map(({ rule, value, pattern }, id) => ({
      id: `saved ${id}`,
      kind: pattern === undefined ? 'value' : 'pattern',
      text: pattern ?? value,
      rule: rule ?? '',
    })),
    exemptAgentAddresses: settings.exemptAgentAddresses,
    answerSchema: answerSchema ? { ...answerSchema, schema: JSON.stringify(answerSchema.schema, null, 2) } : NO_SCHEMA,
    maxInputCharacters: typed(settings.maxInputCharacters),
    maxOutputCharacters: typed(settings.maxOutputCharacters),
    classifier: classifier
      ? {
          ...classifier,
          model: classifier.model ?? '',
          timeoutMs: typed(classifier.timeoutMs),
          threshold: typed(classifier.threshold),
        }
      : NO_CLASSIFIER,
  }
}

/** The draft as the API's settings. */
export function fieldsOf(draft) {
  return {
    ...draft,
    autoApproveThreshold: numberOf(draft.autoApproveThreshold),
    keywords: draft.keywords.map(({ words, ...list }) => ({ ...ruleFields(list), words: linesOf(words) })),
    patterns: draft.patterns.map(ruleFields),
    exemptions: draft.exemptions.map(({ kind, text, rule }) => ({
      rule: rule.trim() || null,
      [kind]: kind === 'value' ? text.trim() : text,
    })),
    answerSchema: schemaFields(draft.answerSchema),
    maxInputCharacters: numberOrNull(draft.maxInputCharacters),
    maxOutputCharacters: numberOrNull(draft.maxOutputCharacters),
    classifier: classifierFields(draft.classifier),
  }
}

/** The API's fields of a list or pattern. If system texts have no action of their own, the action for input applies. */
function ruleFields({ id: _, system, ...entry }) {
  return system ? { ...entry, system } : entry
}

/** The lines of a text that are not blank, trimmed. */
export function linesOf(text) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean)
}

function schemaFields({ schema, ...rest }) {
  return schema.trim() === '' ? null : { ...rest, schema: parsed(schema) ?? schema }
}

/** The JSON value of a text, or undefined if it is not JSON. */
export function parsed(text) {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function classifierFields({ kind, model, timeoutMs, threshold, ...rest }) {
  if (kind === '') return null
  return {
    ...rest,
    kind,
    ...(model.trim() && { model: model.trim() }),
    timeoutMs: numberOf(timeoutMs),
    threshold: numberOf(threshold),
  }
}

/** The overrides after a change of one direction of an entry. An empty action removes the direction. */
export function withAction(rules, name, direction, action) {
  const { [direction]: _, ...entry } = rules[name] ?? {}
  const { [name]: __, ...others } = rules
  if (action) return { ...others, [name]: { ...entry, [direction]: action } }
  return Object.keys(entry).length === 0 ? others : { ...others, [name]: entry }
}

/**
 * A rule's action in one direction. It is the rule's own action, or its category's, or the default. The default for
 * system texts is the action for input.
 */
export function actionOf(rules, rule, direction) {
  if (direction === 'system') {
    return rules[rule.name]?.system ?? rules[rule.category]?.system ?? actionOf(rules, rule, 'input')
  }
  return rules[rule.name]?.[direction] ?? rules[rule.category]?.[direction] ?? rule[direction]
}

const CAP = 100

/**
 * The risk score as the sum of the findings' points, compared with the threshold: "20 + 5 + 5 = 30 ≤ 30".
 * @param {{findings: {points: number}[], riskScore: number, autoApproveThreshold: number}} result
 */
export function riskSum({ findings, riskScore, autoApproveThreshold }) {
  const terms = findings.map(({ points }) => points).filter((points) => points > 0)
  const total = terms.reduce((sum, points) => sum + points, 0)
  const sum = terms.length > 1 ? `${terms.join(' + ')} = ${total}` : String(total)
  const capped = total > CAP ? `${sum}, at most ${CAP}` : sum
  return `${capped} ${riskScore > autoApproveThreshold ? '>' : '≤'} ${autoApproveThreshold}`
}

/**
 * A text split at its findings. Their offsets count UTF-8 bytes.
 * @param {string} text
 * @param {{start: number, end: number}[]} findings
 * @returns {{text: string, finding?: object}[]}
 */
export function piecesOf(text, findings) {
  const bytes = new TextEncoder().encode(text)
  const decoder = new TextDecoder()
  const pieces = []
  let done = 0
  for (const finding of [...findings].sort((a, b) => a.start - b.start)) {
    if (finding.start < done || finding.end <= finding.start) continue
    pieces.push({ text: decoder.decode(bytes.subarray(done, finding.start)) })
    pieces.push({ text: decoder.decode(bytes.subarray(finding.start, finding.end)), finding })
    done = finding.end
  }
  pieces.push({ text: decoder.decode(bytes.subarray(done)) })
  return pieces.filter((piece) => piece.text !== '')
}
