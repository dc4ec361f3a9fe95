// Makes code and tables that are wider than the page focusable, so people without a mouse can scroll them.
const observer = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0
    else target.removeAttribute('tabindex')
  }
})
for (const wide of document.querySelectorAll('.sl-markdown-content :is(pre, table)')) observer.observe(wide)
