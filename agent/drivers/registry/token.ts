import * as z from 'zod'
import { imageFault } from './faults.ts'

/** Where a registry has everybody fetch a token first. */
export interface TokenChallenge {
  realm: string
  service: string | null
  scope: string | null
}

/** What `WWW-Authenticate` asks for, among other things perhaps; null if that is no bearer token. */
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

/** The address that gives the token to everybody. Throws `invalid_request` for a realm that is none. */
export function tokenUrl({ realm, service, scope }: TokenChallenge, repository: string): URL {
  if (!URL.canParse(realm)) throw imageFault('the registry names no place for its tokens')
  const url = new URL(realm)
  if (service !== null) url.searchParams.set('service', service)
  url.searchParams.set('scope', scope ?? `repository:${repository}:pull`)
  return url
}

/** The token in the answer of such a place. Throws `invalid_request` if there is none. */
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
