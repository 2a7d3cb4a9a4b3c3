import * as z from 'zod'
import { imageFault } from './faults.ts'

/** The token service that a registry's challenge names. */
export interface TokenChallenge {
  realm: string
  service: string | null
  scope: string | null
}

/** Parses the bearer challenge of `WWW-Authenticate`, or returns null if it has none. */
export function parseChallenge(header: string): TokenChallenge | null {
  const start = /(?:^|,)\s*bearer\s+/i.exec(header)
  if (start === null) return null
  const fields = new Map<string, string>()
  for (const [, name = '', value = ''] of header.slice(start.index + start[0].length).matchAll(FIELD)) {
    const key = name.toLowerCase()
    if (!fields.has(key)) fields.set(key, value)
  }
  const realm = fields.get('realm')
  if (realm === undefined) return null
  return { realm, service: fields.get('service') ?? null, scope: fields.get('scope') ?? null }
}

/** Builds the URL of an anonymous token. Throws `invalid_request` for a realm that is not a URL. */
export function tokenUrl({ realm, service, scope }: TokenChallenge, repository: string): URL {
  if (!URL.canParse(realm)) throw imageFault('the registry names no place for its tokens')
  const url = new URL(realm)
  if (service !== null) url.searchParams.set('service', service)
  url.searchParams.set('scope', scope ?? `repository:${repository}:pull`)
  return url
}

/** Reads the token from the token service's answer. Throws `invalid_request` if there is none. */
export function readToken(body: Buffer): string {
  let value: unknown
  try {
    value = JSON.parse(body.toString('utf8'))
  } catch {
    value = null
  }
  const parsed = tokenSchema.safeParse(value)
  const token = parsed.success ? (parsed.data.token ?? parsed.data.access_token) : undefined
  if (token === undefined) throw imageFault('the registry gives no token')
  return token
}

const FIELD = /([a-z_]+)="([^"]*)"/gi
const tokenText = z.string().regex(/^[\x21-\x7e]{1,16384}$/)
const tokenSchema = z.looseObject({ token: tokenText.optional(), access_token: tokenText.optional() })
