import { CORS_ORIGINS_EXPECTED, isCorsOrigin } from '../../shared/http/cors-origin.ts'
import { HOSTS_EXPECTED, isHostPattern } from '../../shared/http/host-pattern.ts'

/** Where the front listens. */
export interface FrontAddress {
  host: string
  port: number
}

/**
 * Reads the settings of the front as the front does at its start (functions/config.ts), without its files. Returns its address, with
 * defaults for wrong values, and one sentence for each wrong setting. Pure.
 */
export function inspectFrontSettings(given: Readonly<Record<string, string>>): {
  address: FrontAddress
  faults: string[]
} {
  const faults: string[] = []
  const tell = (name: string, expectation: string): void =>
    void faults.push(`${name}=${JSON.stringify(given[name])}: expected ${expectation}.`)
  const numbers = Object.entries(WHOLE).map(([name, [fallback, min, max]]) => {
    const text = given[name] ?? String(fallback)
    const isSound = /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max
    if (!isSound) tell(name, `a whole number from ${min} to ${max}`)
    return [name, isSound ? Number(text) : fallback] as const
  })
  for (const name of KEYS) {
    const file = given[`${name}_FILE`]
    if (file !== undefined && !file.startsWith('/')) tell(`${name}_FILE`, 'an absolute path')
    if (file !== undefined && given[name] !== undefined) faults.push(`${name} and ${name}_FILE: set only one.`)
  }
  const scheme = given['BOXYARD_CHANNEL_CA'] === undefined ? 'http:' : 'https:'
  if (!isOrigin(given['BOXYARD_AGENT_URL'] ?? `${scheme}//host`, scheme))
    tell('BOXYARD_AGENT_URL', `${scheme}//host:port`)
  const console = given['BOXYARD_CONSOLE_DIR']
  if (console !== undefined && !console.startsWith('/')) tell('BOXYARD_CONSOLE_DIR', 'an absolute path')
  const origins = (given['BOXYARD_CORS_ORIGINS'] ?? '').split(',').filter(Boolean)
  if (!origins.every(isCorsOrigin)) tell('BOXYARD_CORS_ORIGINS', CORS_ORIGINS_EXPECTED)
  const hosts = (given['BOXYARD_HOSTS'] ?? '').split(',').filter(Boolean)
  if (!hosts.every(isHostPattern)) tell('BOXYARD_HOSTS', HOSTS_EXPECTED)
  const port = Object.fromEntries(numbers)['BOXYARD_PORT'] ?? WHOLE.BOXYARD_PORT[0]
  return { address: { host: given['BOXYARD_HOST'] ?? '127.0.0.1', port }, faults }
}

function isOrigin(text: string, scheme: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : null
  return url?.protocol === scheme && url.pathname === '/' && url.search === '' && url.username === ''
}

/** Default and bounds of numbers that only the front has. */
const WHOLE = {
  BOXYARD_PORT: [8080, 0, 65_535],
  BOXYARD_AGENT_TIMEOUT_SECONDS: [29, 1, 3600],
  BOXYARD_DRAIN_SECONDS: [30, 0, 3600],
} as const
const KEYS = ['BOXYARD_CHANNEL_KEYS', 'BOXYARD_TOKEN_KEYS'] as const
