// Tabs for code blocks. One language is shown, and the choice applies to all pages. Without scripts, all blocks are
// shown.
const KEY = 'postern-docs-language'

/** Shows the tab with this label in each group that has one. */
function show(label) {
  for (const group of document.querySelectorAll('.tabs')) {
    const tabs = [...group.querySelectorAll('[role=tab]')]
    if (!tabs.some((tab) => tab.textContent === label)) continue
    for (const tab of tabs) {
      const chosen = tab.textContent === label
      tab.setAttribute('aria-selected', String(chosen))
      tab.tabIndex = chosen ? 0 : -1
      document.getElementById(tab.getAttribute('aria-controls')).hidden = !chosen
    }
  }
}

function choose(tab) {
  const top = tab.getBoundingClientRect().top
  show(tab.textContent)
  // Groups above may have changed their height, so the chosen tab is scrolled back to where it was.
  window.scrollBy({ top: tab.getBoundingClientRect().top - top, behavior: 'instant' })
  try {
    localStorage.setItem(KEY, tab.textContent)
  } catch {} // the browser does not store anything, so the choice applies only to this page
}

function move(event) {
  const tabs = [...event.target.closest('[role=tablist]').children]
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key]
  if (!step) return
  event.preventDefault()
  const next = tabs.at((tabs.indexOf(event.target) + step) % tabs.length)
  next.focus()
  choose(next)
}

for (const tab of document.querySelectorAll('.tabs [role=tab]')) {
  tab.addEventListener('click', () => choose(tab))
  tab.addEventListener('keydown', move)
}
for (const group of document.querySelectorAll('.tabs')) show(group.querySelector('[aria-selected=true]').textContent)
try {
  const kept = localStorage.getItem(KEY)
  if (kept) show(kept)
} catch {} // as above
