import { render } from 'preact'
import { App } from './app.js'
import { html } from './html.js'
import { startRouter } from './router.js'
import './styles/base.css'
import './styles/layout.css'
import './styles/parts.css'

startRouter()
render(html`<${App} />`, document.getElementById('app'))
