import { isIP } from 'node:net'

/**
 * Returns the host names that no box or service may publish: `BOXYARD_RESERVED_DOMAINS` and the hosts in the settings `NAMING`. It leaves out
 * addresses and names of one label.
 */
export function reservedDomainsOf(
  reserved: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const named = NAMING.flatMap((name) => (environment[name] ?? '').split(',')).map(hostIn)
  return [...new Set([...reserved, ...named].map((host) => host.toLowerCase()))].filter(
    (host) => host.includes('.') && isIP(host) === 0,
  )
}

/** Returns the host of an origin, or of a name that may have a wildcard before it and a port behind it. */
function hostIn(text: string): string {
  const url = text.includes('://') ? text : `http://${text.replace(/^\*\./, '')}`
  return URL.canParse(url) ? new URL(url).hostname.replace(/^\[|\]$/g, '') : ''
}

const NAMING = ['BOXYARD_HOST', 'BOXYARD_HOSTS', 'BOXYARD_CORS_ORIGINS', 'BOXYARD_DATA_URL']
