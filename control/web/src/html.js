// Markup as tagged templates: what stands in ${} is always text or a node, never markup.
import htm from 'htm'
import { h } from 'preact'

export const html = htm.bind(h)
