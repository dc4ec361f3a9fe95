// Text to copy.
import { useEffect, useRef, useState } from 'preact/hooks'
import { html } from '../html.js'
import { notify } from '../notices.js'
import { Button } from './button.js'

const SHOWN_MS = 2000

/** Whether a text was copied: without permission, or without encryption on the way here, it is not. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

/** Selects what a button is to copy; false if it stands nowhere. */
function selected(button) {
  const code = button.closest('.copyable')?.querySelector('code')
  if (code) getSelection().selectAllChildren(code)
  return Boolean(code)
}

/** @param {{text: string, name: string, look?: string, label?: any}} props  label: what stands on it, if not Copy */
export function CopyButton({ text, name, look = 'small', label }) {
  const [done, setDone] = useState(false)
  const [byHand, setByHand] = useState(0)
  const copy = async ({ currentTarget: button }) => {
    const ok = await copied(text)
    notify(ok ? `Copied: ${name}` : 'Copying is not allowed here: the text is selected, copy it by hand')
    if (!ok && !selected(button)) setByHand(byHand + 1)
    if (!ok) return
    setDone(true)
    setTimeout(setDone, SHOWN_MS, false)
  }
  return html`<${Button} look=${look} onClick=${copy}>${done ? 'Copied' : (label ?? html`Copy<span class="visually-hidden"> ${name}</span>`)}<//>
    ${byHand > 0 && html`<${CodeBlock} title=${name} text=${text} select=${byHand} />`}`
}

/** A block of code with its name and a button that copies it. Each new number as select selects the code. */
export function CodeBlock({ title, text, select = 0 }) {
  const frame = useRef(null)
  useEffect(() => {
    if (select > 0) selected(frame.current)
  }, [select])
  return html`<section class="code-block copyable" aria-label=${title} ref=${frame}>
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
