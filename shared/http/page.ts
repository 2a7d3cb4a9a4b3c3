import { createHash } from 'node:crypto'
import { NOSNIFF } from './nosniff.ts'

/** The content of a page: `head` and `main` are HTML, the title is text. */
export interface Page {
  title: string
  main: string
  head?: string
}

/** Renders a self-contained page. Adds no line breaks to its content. */
export function pageOf({ title, main, head = '' }: Page): string {
  const text = escapeHtml(title)
  const metas = `<meta charset="utf-8">${VIEWPORT}<meta name="robots" content="noindex">`
  const top = `<head>${metas}${head}<title>${text}</title><style>${STYLE}</style></head>`
  return `<!doctype html><html lang="en">${top}<body><main><h1>${text}</h1>${main}</main></body></html>`
}

/**
 * Returns the content security policy of a page. It loads nothing, runs nothing, appears in no frame, and sends forms only to `formsTo`.
 */
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

/** Returns the headers of a page: the policy of `pagePolicy`, no caching, no referrer. */
export function pageHeaders(formsTo: readonly string[] = []): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': pagePolicy(formsTo),
    'x-frame-options': 'DENY',
    'cross-origin-opener-policy': 'same-origin',
    ...PRIVATE_HEADERS,
  }
}

/** Headers of an answer for one reader: no caching, no referrer. */
export const PRIVATE_HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  ...NOSNIFF,
} as const

/** Returns true if a client prefers a page to JSON: `Accept` names HTML, with no lower quality than JSON. */
export function prefersPage(accept: string | undefined): boolean {
  let [page, json] = [0, 0]
  for (const range of (accept ?? '').slice(0, ACCEPT_MAX).toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const quality = qualityOf(parameters)
    if (type === 'text/html' || type === 'application/xhtml+xml') page = Math.max(page, quality)
    if (type === 'application/json' || type === 'application/problem+json') json = Math.max(json, quality)
  }
  return page > 0 && page >= json
}

/** Escapes text for HTML, within an element or a quoted attribute. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '')
}

function qualityOf(parameters: readonly string[]): number {
  const given = parameters.find((parameter) => parameter.startsWith('q='))
  return given === undefined ? 1 : Number(given.slice(2)) || 0
}

const ACCEPT_MAX = 1_024
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
