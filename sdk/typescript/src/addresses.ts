/** URL schemes that the service may name for requests and for WebSockets. */
export const SCHEMES = { http: ['http:', 'https:'], socket: ['ws:', 'wss:'] } as const

/**
 * Returns why a client of `front` rejects an address that the service named in a redirect or ticket, or null if it accepts the address.
 * Rejects other schemes, passwords, and plain text if `front` is encrypted. Rejects addresses of this machine or its link unless `front` is
 * one.
 */
export function obstacleOf(front: string, address: string, schemes: readonly string[]): string | null {
  const known = new URL(front)
  const target = parseUrl(address, front)
  if (target === null || target.hostname === '') return 'it is not a URL with a host.'
  if (!schemes.includes(target.protocol)) return `its scheme is not one of ${schemes.join(', ')}.`
  if (target.username !== '' || target.password !== '') return 'it has a user name or a password.'
  if (known.protocol === 'https:' && !SECURE.has(target.protocol))
    return `${originOf(target)} is not encrypted, but the service is.`
  const reach = reachOf(target.hostname)
  if (reach === null || reach === reachOf(known.hostname)) return null
  return `${originOf(target)} is this machine or its link (BOXYARD_DATA_URL of the service sets the data address).`
}

/** Parses a URL, which may be relative to `base`. Returns null if it is invalid. */
export function parseUrl(text: string, base: string): URL | null {
  return URL.canParse(text, base) ? new URL(text, base) : null
}

/** Returns scheme, host and port, because `URL.origin` is `null` for WebSockets in some browsers. */
export function originOf({ protocol, host }: URL): string {
  return `${protocol}//${host}`
}

/** Returns the reach of a loopback or link-local host of a URL, or null for any other. The URL has normalized 127.1 and 0x7f.1. */
export function reachOf(hostname: string): 'loopback' | 'link' | null {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback'
  const address = mappedOf(host) ?? host
  if (/^(127|0)\.\d+\.\d+\.\d+$/.test(address) || address === '[::1]' || address === '[::]') return 'loopback'
  return /^169\.254\.\d+\.\d+$/.test(address) || /^\[fe[89ab][\da-f]:/.test(address) ? 'link' : null
}

/** Returns the IPv4 address in an address such as `[::ffff:7f00:1]`. */
function mappedOf(host: string): string | null {
  const [, high, low] = /^\[::ffff:([\da-f]+):([\da-f]+)\]$/.exec(host) ?? []
  if (high === undefined || low === undefined) return null
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [first >> 8, first & 255, second >> 8, second & 255].join('.')
}

const SECURE = new Set(['https:', 'wss:'])
