// Somebody else has changed meanwhile what is being changed here.
import { useEffect, useRef } from 'preact/hooks'
import { html } from '../html.js'
import { useAction } from '../resource.js'
import { Button } from './button.js'
import { FormError } from './form.js'

/** @param {{load: () => Promise<any>, onLoaded: (theirs: any) => void}} props */
export function Conflict({ load, onLoaded }) {
  const frame = useRef(null)
  const { busy, error, run } = useAction(async () => onLoaded(await load()))
  useEffect(() => frame.current.scrollIntoView({ block: 'nearest' }), [])
  return html`<div class="form-error" role="alert" ref=${frame}>
    <p class="state-title">Somebody else has changed this meanwhile</p>
    <p>Nothing was saved. Load their version: the fields that you changed keep what you typed, the others are updated. Look it over, then save again.</p>
    <${FormError} error=${error} />
    <${Button} busy=${busy} onClick=${() => run()}>Reload, keep what I typed<//>
  </div>`
}
