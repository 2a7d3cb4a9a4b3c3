// Applies the chosen theme before the page is drawn for the first time; src/shell/theme.ts does so from then on.
;(() => {
  let chosen = null
  try {
    chosen = localStorage.getItem('boxyard.theme')
  } catch {
    // A browser that keeps nothing follows the machine.
  }
  if (chosen !== 'light' && chosen !== 'dark') return
  document.documentElement.dataset.theme = chosen
  // Until the styles have come.
  document.querySelector('meta[name="color-scheme"]').content = chosen
})()
