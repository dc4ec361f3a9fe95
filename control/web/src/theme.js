// The color theme: the system's or the user's choice, which the browser stores.
const STORED = 'postern-theme'
export const THEMES = ['system', 'light', 'dark']
export const THEME_EVENT = 'postern:theme'

export function theme() {
  try {
    const stored = localStorage.getItem(STORED)
    return THEMES.includes(stored) ? stored : 'system'
  } catch {
    return 'system' // storage is blocked
  }
}

/** @param {string} name one of THEMES */
export function setTheme(name) {
  try {
    localStorage.setItem(STORED, name)
  } catch {
    // Storage is blocked, so the choice lasts until the page is closed.
  }
  showTheme(name)
}

export function showTheme(name) {
  const root = document.documentElement
  if (name === 'system') root.removeAttribute('data-theme')
  else root.setAttribute('data-theme', name)
  document.dispatchEvent(new Event(THEME_EVENT))
}
