/**
 * Tests whether `text` is an exact origin, as a browser writes it in `Origin`: scheme http or https, host, and a port that is not the
 * scheme's own.
 */
export function isCorsOrigin(text: string): boolean {
  const url = URL.canParse(text) && !text.includes('*') ? new URL(text) : null
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') && url.origin === text
}

/** What is told where one is none. */
export const CORS_ORIGINS_EXPECTED = 'exact origins such as https://app.example.com, separated by commas'
