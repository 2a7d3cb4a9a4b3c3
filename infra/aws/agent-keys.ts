import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseChannelKeys, parseTokenKeys } from '../../shared/auth/keys.ts'

/** The contents of the secret of a stage. Each field is the value of one variable of the function. */
export interface StageKeys {
  /** The key that signs requests to the agent, with the agent's id. */
  channel_keys: string
  /** The public keys of tokens. */
  token_keys: string
  /** PEM for mutual TLS on the way to the agent. Empty without mutual TLS. */
  channel_ca: string
  channel_cert: string
  channel_key: string
}

/** PEM files for mutual TLS. All or none. */
export type TlsFiles = Record<'ca' | 'cert' | 'key', string>

/**
 * Reads the keys of an agent from `source`: its directory of keys, or one on another host as `user@host:/directory`, over SSH. Reads the
 * signing key of the channel, and the public keys of tokens.
 * @throws Error naming the file and never showing its contents
 */
export function readAgentKeys(source: string): Pick<StageKeys, 'channel_keys' | 'token_keys'> {
  const channel = parse(source, 'channel.json', parseChannelKeys)
  const tokens = parse(source, 'token-public.json', parseTokenKeys)
  if (tokens.keys.some(({ d }) => d !== undefined))
    throw new Error(`${source}/token-public.json contains a private key. It must contain only public keys.`)
  const signing = { ...channel, keys: channel.keys.slice(0, 1) }
  return { channel_keys: JSON.stringify(signing), token_keys: JSON.stringify(tokens) }
}

/** Reads PEM files. @throws Error naming a file that is not PEM */
export function readTls(files: TlsFiles): Pick<StageKeys, 'channel_ca' | 'channel_cert' | 'channel_key'> {
  const read = (name: keyof TlsFiles, label: RegExp): string => {
    const text = readNamed(files[name]).trim()
    if (!label.test(text)) throw new Error(`--channel-${name} ${files[name]}: expected PEM.`)
    return `${text}\n`
  }
  return {
    channel_ca: read('ca', CERTIFICATE),
    channel_cert: read('cert', CERTIFICATE),
    channel_key: read('key', PRIVATE_KEY),
  }
}

/** @throws Error if the keys do not fit into the function's environment, which Lambda limits to 4 KB */
export function checkSize(keys: StageKeys): void {
  const bytes = Buffer.byteLength(Object.values<string>({ ...keys }).join(''))
  if (bytes <= KEYS_MAX_BYTES) return
  throw new Error(
    `The keys have ${bytes} bytes, but the environment of a function fits ${KEYS_MAX_BYTES}. Drop old token keys, and use certificates with EC keys (P-256), without the text before them.`,
  )
}

/** Describes keys by their ids, for people. */
export function describeKeys(keys: StageKeys): string {
  const [channel] = parseChannelKeys(keys.channel_keys).keys
  const tokens = parseTokenKeys(keys.token_keys).keys.map(({ kid }) => kid)
  const tls = keys.channel_ca === '' ? 'no certificates' : 'certificates for mutual TLS'
  return `channel key ${channel?.id}, token keys ${tokens.join(', ')}, ${tls}`
}

function parse<T>(source: string, name: string, parseText: (text: string) => T): T {
  const text = readFrom(source, name)
  try {
    return parseText(text)
  } catch (error) {
    throw new Error(`${source}/${name} ${error instanceof Error ? error.message : 'is not well-formed'}.`)
  }
}

function readFrom(source: string, name: string): string {
  const [, host, directory] = /^([^/:]+):(\/.*)$/.exec(source) ?? []
  if (host === undefined || directory === undefined) return readNamed(join(source, name))
  if (host.startsWith('-') || !/^[\w./-]+$/.test(directory))
    throw new Error(`--keys ${source}: expected user@host:/directory.`)
  const answer = spawnSync('ssh', ['--', host, `cat -- ${join(directory, name)}`], {
    encoding: 'utf8',
    stdio: ['inherit', 'pipe', 'inherit'],
  })
  if (answer.status === 0) return answer.stdout
  throw new Error(`${source}/${name} is not readable over SSH.`, { cause: answer.error })
}

function readNamed(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    throw new Error(`${path} is not readable (${code}).`, { cause })
  }
}

const CERTIFICATE = /^-----BEGIN CERTIFICATE-----[\s\S]+-----END CERTIFICATE-----$/
const PRIVATE_KEY = /^-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[\s\S]+-----END ([A-Z]+ )?PRIVATE KEY-----$/
/** Leaves the rest of the 4,096 bytes for names, address and time-out. */
const KEYS_MAX_BYTES = 3_500
