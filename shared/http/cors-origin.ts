/**
 * Tests whether `text` is an exact origin, as a browser writes it in `Origin`: scheme http or https, host, and a port other than the
 * scheme's default.
 */
export function isCorsOrigin(text: string): boolean {
  const url = URL.canParse(text) && !text.includes('*') ? new URL(text) : null
  return url !== null && (url.protocol === 'https:' || url.protocol === 'http:') && url.origin === text
}

/** The error text for an invalid origin. */
export const CORS_ORIGINS_EXPECTED = 'exact origins such as https://app.example.com, separated by commas'
