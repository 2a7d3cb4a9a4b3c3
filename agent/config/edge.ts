import * as z from 'zod'
import type { EdgeLimits } from '../ports/edge/edge.ts'
import { edgeConnectionsOf } from './connections.ts'
import { reservedDomainsOf } from './reserved-domains.ts'
import { absolute, list, networks, origin, whole } from './variables.ts'

/** All settings of the edge, with defaults applied. */
export interface EdgeSettings {
  host: string
  /** 0: any free port. */
  port: number
  /** Parent domain of the hosts of boxes. */
  domain: string
  /** Public scheme and port behind another proxy. Null: as it listens. `port` null: the default of the scheme. */
  seenAs: { scheme: 'http' | 'https'; port: number | null } | null
  /** Directory of PEM files, each a certificate with its key. Null: no TLS. */
  certificates: string | null
  /** Issues certificates by ACME for names that `certificates` does not cover. Null: off. */
  acme: AcmeSettings | null
  /** Addresses and networks whose `X-Forwarded-For` is trusted. */
  trustedProxies: string[]
  /** Host names that no box or service may be published at, nor at a name above or below them. */
  reservedDomains: string[]
  /** DNS resolvers for proofs of domains, as addresses with an optional port. Empty: the host's resolvers. */
  resolvers: string[]
  limits: EdgeLimits
}

/** The ACME account and CA. */
export interface AcmeSettings {
  /** E-mail address of the account. */
  email: string
  /** URL of the CA's directory. Null: a public CA. */
  directory: string | null
  /** PEM file of the CA's root certificate. Null: the host's trust store. */
  root: string | null
  /** Port for HTTP-01 challenges and redirects to HTTPS. Null: none. */
  httpPort: number | null
}

const DOMAIN = /^(?=.{1,180}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

const RESOLVER = /^(\d{1,3}(\.\d{1,3}){3}(:\d{1,5})?|\[[0-9a-fA-F:]+\](:\d{1,5})?|[0-9a-fA-F:]*:[0-9a-fA-F:]+)$/

/** Schemas of the edge's variables, part of the agent's. */
export const EDGE_VARIABLES = {
  BOXYARD_EDGE_HOST: z.string().default('127.0.0.1'),
  BOXYARD_EDGE_PORT: whole(8081, 0, 65_535),
  BOXYARD_DOMAIN: z.string().regex(DOMAIN, 'expected a domain such as boxes.example.org').default('localhost'),
  BOXYARD_EDGE_URL: origin.optional(),
  BOXYARD_EDGE_CERTIFICATES: absolute.optional(),
  BOXYARD_EDGE_ACME: z.email('expected an e-mail address').optional(),
  BOXYARD_EDGE_ACME_DIRECTORY: z
    .url({ protocol: /^https$/, error: 'expected the https URL of an ACME directory' })
    .optional(),
  BOXYARD_EDGE_ACME_ROOT: absolute.optional(),
  BOXYARD_EDGE_HTTP_PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'expected a port from 1 to 65535')
    .transform(Number)
    .refine((port) => port > 0 && port <= 65_535, 'expected a port from 1 to 65535')
    .optional(),
  BOXYARD_EDGE_TRUSTED_PROXIES: networks,
  BOXYARD_EDGE_RESOLVERS: list.refine(
    (items) => items.every((item) => RESOLVER.test(item)),
    'expected addresses such as 9.9.9.9 or 127.0.0.1:5353, with commas',
  ),
  BOXYARD_RESERVED_DOMAINS: list.refine(
    (items) => items.every((item) => DOMAIN.test(item) && item.includes('.')),
    'expected host names such as example.org, with commas',
  ),
  BOXYARD_EDGE_CONNECTIONS_MAX: whole(8_000, 16, 65_536),
}

/**
 * Reads the edge's settings from `env`. `environment` also holds the variables of the front.
 * @throws Error for a URL outside the domain, and for settings that contradict each other
 */
export function edgeSettingsOf(
  env: EdgeVariables,
  environment: Readonly<Record<string, string | undefined>>,
): EdgeSettings {
  return {
    host: env.BOXYARD_EDGE_HOST,
    port: env.BOXYARD_EDGE_PORT,
    domain: env.BOXYARD_DOMAIN,
    seenAs: env.BOXYARD_EDGE_URL === undefined ? null : seenAs(env.BOXYARD_EDGE_URL, env.BOXYARD_DOMAIN),
    certificates: env.BOXYARD_EDGE_CERTIFICATES ?? null,
    acme: acmeOf(env),
    trustedProxies: env.BOXYARD_EDGE_TRUSTED_PROXIES,
    reservedDomains: reservedDomainsOf(env.BOXYARD_RESERVED_DOMAINS, environment),
    resolvers: env.BOXYARD_EDGE_RESOLVERS,
    limits: { ...RATES, connections: edgeConnectionsOf(env) },
  }
}

type EdgeVariables = z.infer<z.ZodObject<typeof EDGE_VARIABLES>>

const RATES = { connectionsPerSecond: 200, questionsPerSecond: 50 }

function acmeOf(env: EdgeVariables): AcmeSettings | null {
  const { BOXYARD_EDGE_ACME: email, BOXYARD_EDGE_ACME_DIRECTORY: directory, BOXYARD_EDGE_ACME_ROOT: root } = env
  const { BOXYARD_EDGE_HTTP_PORT: httpPort, BOXYARD_EDGE_PORT: port, BOXYARD_EDGE_URL: url } = env
  if (email === undefined) {
    const lone = Object.entries({ DIRECTORY: directory, ROOT: root }).filter(([, value]) => value !== undefined)
    if (lone.length > 0) throw new Error(`BOXYARD_EDGE_ACME_${lone[0]?.[0]} is given without BOXYARD_EDGE_ACME.`)
    if (httpPort !== undefined) throw new Error('BOXYARD_EDGE_HTTP_PORT is given without BOXYARD_EDGE_ACME.')
    return null
  }
  if (env.BOXYARD_EDGE_TRUSTED_PROXIES.length > 0)
    throw new Error('BOXYARD_EDGE_TRUSTED_PROXIES: not allowed with BOXYARD_EDGE_ACME, which terminates TLS itself.')
  if (url?.startsWith('http:')) throw new Error('BOXYARD_EDGE_URL must be https with BOXYARD_EDGE_ACME.')
  if (httpPort === port) throw new Error('BOXYARD_EDGE_HTTP_PORT and BOXYARD_EDGE_PORT: must be different.')
  return { email, directory: directory ?? null, root: root ?? null, httpPort: httpPort ?? null }
}

function seenAs(text: string, domain: string): EdgeSettings['seenAs'] {
  const { protocol, hostname, port } = new URL(text)
  if (hostname !== domain)
    throw new Error(`BOXYARD_EDGE_URL: must have the host ${domain} of BOXYARD_DOMAIN, not ${hostname}.`)
  return { scheme: protocol === 'https:' ? 'https' : 'http', port: port === '' ? null : Number(port) }
}
