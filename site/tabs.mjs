// Consecutive code blocks in different languages that callers use become tabs. A shell block counts if it calls curl.
// Documents need no special markup for this. On a code host, the same blocks appear one below the other.
const LANGUAGES = { ts: 'TypeScript', js: 'JavaScript', mjs: 'JavaScript', python: 'Python', py: 'Python', go: 'Go' }
const SHELLS = ['sh', 'bash', 'shell']

/** Returns the edits that put rows of code blocks into tabs. See edited() in markdown.mjs. */
export function tabs(tree) {
  return rows(tree.children).flatMap((row, i) => around(row, `tabs-${i + 1}`))
}

function labelOf(node) {
  if (node.type !== 'code') return undefined
  if (SHELLS.includes(node.lang) && /(^|\n)\s*curl\s/.test(node.value)) return 'curl'
  return LANGUAGES[node.lang]
}

/** Returns each row of two or more consecutive blocks with different labels, as [{node, label}, …]. */
function rows(nodes) {
  const found = []
  let row = []
  for (const node of [...nodes, { type: 'end' }]) {
    const label = labelOf(node)
    if (label && !row.some((block) => block.label === label)) {
      row.push({ node, label })
      continue
    }
    if (row.length > 1) found.push(row)
    row = label ? [{ node, label }] : []
  }
  return found
}

function around(row, id) {
  const buttons = row.map(
    ({ label }, i) =>
      `<button type="button" role="tab" id="${id}-tab-${i}" aria-controls="${id}-${i}" aria-selected="${i === 0}"${i ? ' tabindex="-1"' : ''}>${label}</button>`,
  )
  const head = `<div class="tabs not-content">\n<div role="tablist" aria-label="Language">${buttons.join('')}</div>\n`
  return row.flatMap(({ node }, i) => [
    { node, before: `${i ? '' : head}<div role="tabpanel" id="${id}-${i}" aria-labelledby="${id}-tab-${i}">\n\n` },
    { node, after: `\n\n</div>\n${i === row.length - 1 ? '</div>\n' : ''}` },
  ])
}
