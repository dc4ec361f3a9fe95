// Copies text to the clipboard.
import { useEffect, useRef, useState } from 'preact/hooks'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { Button } from './button.js'

const SHOWN_MS = 2000

/**
 * Copies a text. Returns false if the browser refuses, because it has no permission or the context is not secure.
 */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** Selects the code next to a copy button. Returns false if there is no code. */
function selectCode(button) {
  const code = button.closest('.copyable')?.querySelector('code')
  if (code) getSelection().selectAllChildren(code)
  return Boolean(code)
}

/** @param {{text: string, name: string, look?: string, label?: any}} props  label: the button's text, "Copy" by default */
export function CopyButton({ text, name, look = 'small', label }) {
  const [done, setDone] = useState(false)
  const [fallbacks, setFallbacks] = useState(0)
  const copy = async ({ currentTarget: button }) => {
    const ok = await copyText(text)
    notify(ok ? `Copied: ${name}` : 'The browser blocked copying. The text is selected: press Ctrl+C or ⌘C.')
    if (!ok && !selectCode(button)) setFallbacks(fallbacks + 1)
    if (!ok) return
    setDone(true)
    setTimeout(setDone, SHOWN_MS, false)
  }
  return html`<${Button} look=${look} onClick=${copy}>${done ? 'Copied' : (label ?? html`Copy<span class="visually-hidden"> ${name}</span>`)}<//>
    ${fallbacks > 0 && html`<${CodeBlock} title=${name} text=${text} select=${fallbacks} />`}`
}

/** A titled code block with a copy button. select is a counter, and each change of it selects the code. */
export function CodeBlock({ title, text, select = 0 }) {
  const frame = useRef(null)
  useEffect(() => {
    if (select > 0) selectCode(frame.current)
  }, [select])
  return html`<section class="code-block copyable" aria-label=${title} ref=${frame}>
    <div class="code-head"><span>${title}</span><${CopyButton} text=${text} name=${title} /></div>
    <pre tabindex="0"><code>${text}</code></pre>
  </section>`
}

/** A secret that is shown only once. */
export function SecretOnce({ label, value, children }) {
  return html`<div class="secret copyable" role="group" aria-label=${label}>
    <p class="state-title">${label}</p>
    <p>Copy it now. You won’t be able to see it again.</p>
    <div class="secret-line"><code>${value}</code><${CopyButton} text=${value} name=${label} look="primary" /></div>
    ${children}
  </div>`
}
