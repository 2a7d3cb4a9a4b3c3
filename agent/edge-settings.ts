import * as z from 'zod'
import { absolute, networks, origin, whole } from './setting-kinds.ts'

/** What the edge can be told, complete. */
export interface EdgeSettings {
  host: string
  /** 0: any that is free. */
  port: number
  /** Below which each box has a name. */
  domain: string
  /** How clients reach it where something stands in front; null: as it listens. A `port` null is that of the scheme. */
  seenAs: { scheme: 'http' | 'https'; port: number | null } | null
  /** Directory of PEM files, each a certificate with its key; null: no TLS. */
  certificates: string | null
  /** Addresses and networks whose `X-Forwarded-For` is believed. */
  trustedProxies: string[]
}

const DOMAIN = /^(?=.{1,180}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/** The variables of the edge, beside those of the agent. */
export const EDGE_VARIABLES = {
  BOXYARD_EDGE_HOST: z.string().default('127.0.0.1'),
  BOXYARD_EDGE_PORT: whole(8081, 0, 65_535),
  BOXYARD_DOMAIN: z.string().regex(DOMAIN, 'expected a domain such as boxes.example.org').default('localhost'),
  BOXYARD_EDGE_URL: origin.optional(),
  BOXYARD_EDGE_CERTIFICATES: absolute.optional(),
  BOXYARD_EDGE_TRUSTED_PROXIES: networks,
}

/**
 * What the variables come to.
 * @throws Error for a URL of another domain
 */
export function edgeSettingsOf(env: z.infer<z.ZodObject<typeof EDGE_VARIABLES>>): EdgeSettings {
  return {
    host: env.BOXYARD_EDGE_HOST,
    port: env.BOXYARD_EDGE_PORT,
    domain: env.BOXYARD_DOMAIN,
    seenAs: env.BOXYARD_EDGE_URL === undefined ? null : seenAs(env.BOXYARD_EDGE_URL, env.BOXYARD_DOMAIN),
    certificates: env.BOXYARD_EDGE_CERTIFICATES ?? null,
    trustedProxies: env.BOXYARD_EDGE_TRUSTED_PROXIES,
  }
}

function seenAs(text: string, domain: string): EdgeSettings['seenAs'] {
  const { protocol, hostname, port } = new URL(text)
  if (hostname !== domain)
    throw new Error(`BOXYARD_EDGE_URL must be of BOXYARD_DOMAIN, ${domain}; it is of ${hostname}.`)
  return { scheme: protocol === 'https:' ? 'https' : 'http', port: port === '' ? null : Number(port) }
}
