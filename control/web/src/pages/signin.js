// Sign-in with the deployment's owner or viewer token.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { post } from '../api.js'
import { Button } from '../components/button.js'
import { Dialog } from '../components/dialog.js'
import { TextField } from '../components/form.js'
import { HelpLinks, Mark, ThemeSwitch } from '../components/shell.js'
import { adviceOn, ErrorFacts } from '../components/states.js'
import { html } from '../html.js'
import { useAction } from '../resource.js'

export function SignInPage({ onSignedIn }) {
  useLayoutEffect(() => {
    document.title = 'Sign in · Postern'
  }, [])
  return html`<main class="alone" id="main">
    <div class="signin card">
      <p class="brand"><${Mark} /> Postern</p>
      <h1>Sign in</h1>
      <${SignInForm} onSignedIn=${onSignedIn} />
    </div>
    <${ThemeSwitch} />
    <${HelpLinks} />
  </main>`
}

/** The sign-in dialog on top of a page whose session has ended. The page keeps its unsaved input. */
export function SignInDialog({ onSignedIn, onLeave }) {
  return html`<${Dialog} title="Sign in again" persistent onClose=${() => {}}>
    <p>Your session has ended. Sign in to continue; unsaved input on this page is kept.</p>
    <${SignInForm} onSignedIn=${onSignedIn} />
    <div class="buttons"><${Button} onClick=${onLeave}>Leave<//></div>
  <//>`
}

function SignInForm({ onSignedIn }) {
  const [token, setToken] = useState('')
  const form = useRef(null)
  const { busy, error, run } = useAction(async () =>
    onSignedIn(await post('session', { token: token.trim() }, { anonymous: true })),
  )
  useEffect(() => form.current.querySelector('input').focus(), [error])
  const submit = (event) => {
    event.preventDefault()
    if (!busy && token.trim() !== '') void run()
  }
  return html`<form onSubmit=${submit} ref=${form}>
    <${TextField} label="Token" type="password" name="token" autocomplete="current-password" required value=${token}
      onValue=${setToken}
      hint="The deployment’s POSTERN_ADMIN_TOKEN, or POSTERN_VIEWER_TOKEN for read-only access. “make dev” prints the admin token." />
    <${Problem} error=${error} />
    <${Button} look="primary wide" type="submit" busy=${busy} disabled=${token.trim() === ''}>Sign in<//>
  </form>`
}

function Problem({ error }) {
  if (!error) return null
  if (error.code === 'wrong_token') return html`<p class="form-error" role="alert">Invalid token.</p>`
  if (error.status === 429)
    return html`<p class="form-error" role="alert">Invalid token. There were too many failed attempts from your IP address, but a valid token still works.</p>`
  return html`<div class="form-error" role="alert"><p>${error.message}. ${adviceOn(error)}</p><${ErrorFacts} error=${error} /></div>`
}
