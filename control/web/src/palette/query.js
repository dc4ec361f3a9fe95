// Interprets a text that was typed into the palette.
import { sha256 } from '../sha256.js'

export const KEY_LENGTH = 37
const WHOLE_KEY = /(?<![0-9A-Za-z_])([sp]k_(?:live|test)_)[0-9A-Za-z]{29}(?![0-9A-Za-z])/
const MASKED = /^[sp]k_(?:live|test)_(?:…|\.{3})([0-9A-Za-z]{4})$/
// Parts of a Postern key, and the keys of most providers. None of them may be sent to the server.
const SECRET = /(?<![0-9A-Za-z])[sp]k[-_][\w-]{5,}/
const IDS = [
  ['project', /^proj_[0-9A-Za-z]{1,59}$/],
  ['group', /^grp_[0-9A-Za-z]{1,60}$/],
  ['violation', /^vio_[0-9A-Za-z]{1,60}$/],
  ['request', /^req_[0-9a-f]{32}$/],
]

/**
 * Finds a complete API key in a text, even if it was pasted as part of a header or an assignment.
 * @param {string} text
 * @returns {{hash: string, masked: string} | null} masked: the text to show instead of the key
 */
export function wholeKey(text) {
  const found = WHOLE_KEY.exec(text)
  if (!found) return null
  return { hash: sha256(found[0]), masked: `${found[1]}…${found[0].slice(-4)}` }
}

/**
 * @param {string} text as typed, without a complete key
 * @returns {{kind: 'nothing' | 'secret' | 'project' | 'group' | 'violation' | 'request' | 'text', text: string}}
 *   secret: must not leave the browser; text: what to search for
 */
export function readQuery(text) {
  const trimmed = text.trim()
  if (trimmed === '') return { kind: 'nothing', text: '' }
  const masked = MASKED.exec(trimmed)
  if (masked) return { kind: 'text', text: masked[1] }
  if (SECRET.test(trimmed)) return { kind: 'secret', text: '' }
  const id = IDS.find(([, form]) => form.test(trimmed))
  return { kind: id ? id[0] : 'text', text: trimmed }
}

/** Whether a label contains all words of a text, ignoring case. */
export function matchesWords(label, text) {
  const lower = label.toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word))
}
