// Text to copy.
import { useState } from 'preact/hooks'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { Button } from './button.js'

const SHOWN_MS = 2000

/** Copies; without the clipboard's permission, selects what is to be copied. */
async function copied(text, from) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const block = from.closest('.copyable')?.querySelector('code')
    if (block) getSelection().selectAllChildren(block)
    return false
  }
}

/** @param {{text: string, name: string, look?: string, label?: any}} props  label: what stands on it, if not Copy */
export function CopyButton({ text, name, look = 'small', label }) {
  const [done, setDone] = useState(false)
  const copy = async (event) => {
    const ok = await copied(text, event.currentTarget)
    notify(ok ? `Copied: ${name}` : 'Copying is not allowed here: the text is selected, copy it by hand')
    if (!ok) return
    setDone(true)
    setTimeout(setDone, SHOWN_MS, false)
  }
  return html`<${Button} look=${look} onClick=${copy}>${done ? 'Copied' : (label ?? html`Copy<span class="visually-hidden"> ${name}</span>`)}<//>`
}

/** A block of code with its name and a button that copies it. */
export function CodeBlock({ title, text }) {
  return html`<section class="code-block copyable" aria-label=${title}>
    <div class="code-head"><span>${title}</span><${CopyButton} text=${text} name=${title} /></div>
    <pre tabindex="0"><code>${text}</code></pre>
  </section>`
}

/** A secret that is shown this once. */
export function SecretOnce({ label, value, children }) {
  return html`<div class="secret copyable" role="group" aria-label=${label}>
    <p class="state-title">${label}</p>
    <p>It is shown only now. Keep it where your secrets are; a lost one is replaced, not retrieved.</p>
    <div class="secret-line"><code>${value}</code><${CopyButton} text=${value} name=${label} look="primary" /></div>
    ${children}
  </div>`
}
