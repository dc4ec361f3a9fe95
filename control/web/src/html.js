// Markup as tagged templates. A value in ${} is always text or a node and is never parsed as markup.
import htm from 'htm'
import { h } from 'preact'

export const html = htm.bind(h)
