import { createHash } from 'node:crypto'

/** What a page of ours says: `head` and `main` are HTML, the title is text. */
export interface Page {
  title: string
  main: string
  head?: string
}

/** A whole page, which needs nothing from anywhere; without line breaks but those it is given. */
export function pageOf({ title, main, head = '' }: Page): string {
  const text = escapeHtml(title)
  const metas = `<meta charset="utf-8">${VIEWPORT}<meta name="robots" content="noindex">`
  const top = `<head>${metas}${head}<title>${text}</title><style>${STYLE}</style></head>`
  return `<!doctype html><html lang="en">${top}<body><main><h1>${text}</h1>${main}</main></body></html>`
}

/** The content security policy of such a page: it loads nothing, runs nothing, is shown in no frame, and sends forms to those origins. */
export function pagePolicy(formsTo: readonly string[] = []): string {
  const style = createHash('sha256').update(STYLE).digest('base64')
  return [
    "default-src 'none'",
    `style-src 'sha256-${style}'`,
    `form-action ${formsTo.join(' ') || "'none'"}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ')
}

/** Text as HTML shows it, within an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '')
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const VIEWPORT = '<meta name="viewport" content="width=device-width, initial-scale=1">'
const STYLE = [
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}',
  'main{max-width:28rem;margin:15vh auto 0;padding:0 1rem;overflow-wrap:anywhere}',
  'h1{font-size:1.5rem}',
  'label,input,button{display:block;width:100%;box-sizing:border-box;font:inherit}',
  'input,button{padding:.5rem;margin:.25rem 0 1rem}',
  '.small{font-size:.875rem;opacity:.75}',
  '[role=alert]{border-left:.25rem solid #c33;padding-left:.75rem}',
].join('')
