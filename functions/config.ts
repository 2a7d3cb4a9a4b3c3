import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONNECTIONS_MAX_DEFAULT } from '../shared/http/connection-limit.ts'
import { CORS_ORIGINS_EXPECTED, isCorsOrigin } from '../shared/http/cors-origin.ts'
import { HOSTS_EXPECTED, isHostPattern } from '../shared/http/host-pattern.ts'
import { isNetwork, NETWORKS_EXPECTED } from '../shared/http/source-address.ts'
import type { LogLevel } from '../shared/log.ts'
import { FRONT_SETTINGS } from '../shared/settings-names.ts'

/** A secret's text, or the absolute path of the file that holds it. */
export type SecretSource = { text: string } | { file: string }

/** Client side of mutual TLS on the channel, as PEM. */
export interface ChannelTls {
  ca: string
  cert: string
  key: string
}

/** All settings of the front, with defaults applied. */
export interface FrontSettings {
  host: string
  port: number
  /** Origin of the agent, without a path. */
  agentUrl: string
  /** Time-out for an answer of the agent, below the 30 s of API Gateway. */
  agentTimeoutMs: number
  /** Time for requests in flight to end when the front stops. */
  drainMs: number
  logLevel: LogLevel
  channelKeys: SecretSource
  tokenKeys: SecretSource
  channelTls: ChannelTls | null
  /** Desired maximum of client connections to a standalone front. */
  connectionsMax: number
  /** Addresses and networks whose `X-Forwarded-For` is trusted. */
  trustedProxies: string[]
  /** Origins whose pages can call a standalone front, such as `https://app.example.com`. */
  corsOrigins: string[]
  /**
   * Known host names in addition to this machine's names and the hosts of the other settings. A leading `*.` matches all names below it.
   */
  hosts: string[]
  /** Directory of the built web console that a standalone front serves. Null for the console of its checkout, if it is built. */
  consoleDir: string | null
}

/**
 * Reads the front's settings once. `others` are names of settings of other programs that share the environment.
 * @throws Error naming the variable, its value unless it is secret, and the expected form
 */
export function readFrontSettings(
  environment: Record<string, string | undefined> = process.env,
  others: readonly string[] = [],
): FrontSettings {
  const known = new Set<string>([...FRONT_SETTINGS, ...others])
  const given = Object.entries(environment).filter(([name, value]) => name.startsWith('BOXYARD_') && value !== '')
  const unknown = given.map(([name]) => name).filter((name) => !known.has(name))
  if (unknown.length > 0) throw new Error(`${unknown.join(', ')}: no such setting.`)
  const env = createReader(Object.fromEntries(given) as Record<string, string>)
  const channelTls = readTls(env)
  return {
    host: env.text('BOXYARD_HOST') ?? '127.0.0.1',
    port: env.whole('BOXYARD_PORT', { fallback: 8080, min: 0, max: 65_535 }),
    agentUrl: agentUrlOf(env, channelTls !== null),
    agentTimeoutMs: env.whole('BOXYARD_AGENT_TIMEOUT_SECONDS', { fallback: 29, min: 1, max: 3600 }) * 1000,
    drainMs: env.whole('BOXYARD_DRAIN_SECONDS', { fallback: 30, min: 0, max: 3600 }) * 1000,
    logLevel: env.oneOf('BOXYARD_LOG_LEVEL', ['info', 'debug', 'warn', 'error']),
    channelKeys: secretOf(env, { name: 'BOXYARD_CHANNEL_KEYS', file: 'channel.json' }),
    tokenKeys: secretOf(env, { name: 'BOXYARD_TOKEN_KEYS', file: 'token-public.json' }),
    channelTls,
    connectionsMax: env.whole('BOXYARD_CONNECTIONS_MAX', CONNECTIONS_MAX_DEFAULT),
    trustedProxies: env.list('BOXYARD_TRUSTED_PROXIES', { isSound: isNetwork, expected: NETWORKS_EXPECTED }),
    corsOrigins: env.list('BOXYARD_CORS_ORIGINS', { isSound: isCorsOrigin, expected: CORS_ORIGINS_EXPECTED }),
    hosts: env.list('BOXYARD_HOSTS', { isSound: isHostPattern, expected: HOSTS_EXPECTED }),
    consoleDir: env.path('BOXYARD_CONSOLE_DIR') ?? null,
  }
}

/** Returns whether a service manager waits for a notification of this process (sd_notify(3)). */
export function isNotifyService(environment: Record<string, string | undefined> = process.env): boolean {
  return environment['NOTIFY_SOCKET'] !== undefined
}

type Setting = (typeof FRONT_SETTINGS)[number]

interface Reader {
  text(name: Setting): string | undefined
  path(name: Setting): string | undefined
  /** Empty if not set. Separated by commas. */
  list(name: Setting, item: { isSound: (text: string) => boolean; expected: string }): string[]
  whole(name: Setting, bounds: { fallback: number; min: number; max: number }): number
  /** The first choice is the default. */
  oneOf<const T extends string>(name: Setting, choices: readonly [T, ...T[]]): T
}

/** Reads settings without a validator, whose schemas would add some milliseconds to every start of a function. */
function createReader(env: Readonly<Record<string, string>>): Reader {
  const refuse = (name: Setting, expectation: string): never => {
    throw new Error(`${name}=${JSON.stringify(env[name])}: expected ${expectation}.`)
  }
  return {
    text: (name) => env[name],
    list: (name, { isSound, expected }) => {
      const items = (env[name] ?? '').split(',').filter(Boolean)
      return items.every(isSound) ? items : refuse(name, expected)
    },
    path: (name) => {
      const value = env[name]
      return value === undefined || value.startsWith('/') ? value : refuse(name, 'an absolute path')
    },
    whole: (name, { fallback, min, max }) => {
      const text = env[name] ?? String(fallback)
      const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : refuse(name, `a whole number from ${min} to ${max}`)
    },
    oneOf: (name, choices) => {
      const value = env[name] ?? choices[0]
      return choices.find((choice) => choice === value) ?? refuse(name, `one of ${choices.join(', ')}`)
    },
  }
}

/** Defaults to the key file below the data directory, which the agent writes at its first start. */
function secretOf(
  env: Reader,
  { name, file }: { name: 'BOXYARD_CHANNEL_KEYS' | 'BOXYARD_TOKEN_KEYS'; file: string },
): SecretSource {
  const text = env.text(name)
  const path = env.path(`${name}_FILE`)
  if (text !== undefined && path !== undefined) throw new Error(`${name} and ${name}_FILE: set only one.`)
  return text === undefined
    ? { file: path ?? join(env.path('BOXYARD_DATA_DIR') ?? '/var/lib/boxyard', 'keys', file) }
    : { text }
}

function agentUrlOf(env: Reader, isSecure: boolean): string {
  const port = env.whole('BOXYARD_AGENT_PORT', { fallback: 8090, min: 0, max: 65_535 })
  const text = env.text('BOXYARD_AGENT_URL') ?? `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`
  const url = URL.canParse(text) ? new URL(text) : null
  const scheme = isSecure ? 'https:' : 'http:'
  if (url?.protocol !== scheme || url.pathname !== '/' || url.search !== '' || url.username !== '') {
    const reason = isSecure ? ', since BOXYARD_CHANNEL_CA is given' : ''
    throw new Error(`BOXYARD_AGENT_URL=${JSON.stringify(text)}: expected ${scheme}//host:port${reason}.`)
  }
  return url.origin
}

function readTls(env: Reader): ChannelTls | null {
  const ca = env.text('BOXYARD_CHANNEL_CA')
  const cert = env.text('BOXYARD_CHANNEL_CERT')
  const key = env.text('BOXYARD_CHANNEL_KEY')
  if (ca === undefined && cert === undefined && key === undefined) return null
  if (ca === undefined || cert === undefined || key === undefined) {
    throw new Error('BOXYARD_CHANNEL_CA, BOXYARD_CHANNEL_CERT and BOXYARD_CHANNEL_KEY: set all or none.')
  }
  return {
    ca: readPem('BOXYARD_CHANNEL_CA', ca),
    cert: readPem('BOXYARD_CHANNEL_CERT', cert),
    key: readPem('BOXYARD_CHANNEL_KEY', key),
  }
}

/** Reads PEM from a file, or uses it directly, because a function has no files except its bundle. */
function readPem(name: string, value: string): string {
  if (value.startsWith('-----BEGIN ')) return value
  try {
    return readFileSync(value, 'utf8')
  } catch (cause) {
    throw new Error(`${name}: expected PEM, or the path of a readable PEM file.`, { cause })
  }
}
