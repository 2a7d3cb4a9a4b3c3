import type { FitAddon } from '@xterm/addon-fit'
import type { Terminal } from '@xterm/xterm'

/**
 * Sets the font of the console once it is loaded, because a terminal measures its cells only when the font changes. Returns a function that
 * stops waiting.
 */
export function applyOwnFont(terminal: Terminal, fit: FitAddon): () => void {
  const family = terminal.options.fontFamily ?? 'monospace'
  if (document.fonts.check(SAMPLE)) return () => undefined
  terminal.options.fontFamily = withoutFirst(family)
  let isOver = false
  const apply = (): void => {
    if (isOver) return
    terminal.options.fontFamily = family
    fit.fit()
  }
  // The fallback stays if loading fails.
  document.fonts.load(SAMPLE).then(apply, () => undefined)
  return () => {
    isOver = true
  }
}

function withoutFirst(family: string): string {
  return family.slice(family.indexOf(',') + 1).trim() || 'monospace'
}

/** Any size loads the font. */
const SAMPLE = '13px "JetBrains Mono Variable"'
