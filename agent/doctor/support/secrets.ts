import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type GivenSettings, SECRET_SETTINGS } from '../../config/given.ts'
import { readEnvironmentValues } from '../../drivers/store/inspect.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'

/** Collects the secrets of a deployment that can be read here: keys, tokens, credentials, and the environments of boxes. */
export function collectSecrets({ agent, given }: GivenSettings): string[] {
  const { dataDir, channelTls, data, edge, backups, kubernetes } = agent
  const keys = join(dataDir, 'keys')
  const files = [
    ...[join(dataDir, 'admin.token'), ...namesIn(keys).map((name) => join(keys, name))],
    ...[channelTls?.key, data.tls?.key, backups.s3?.keyFile, kubernetes.kubeconfig].flatMap((path) => path ?? []),
    ...(edge.certificates === null
      ? []
      : namesIn(edge.certificates).map((name) => join(edge.certificates ?? '', name))),
    ...['BOXYARD_CHANNEL_KEYS_FILE', 'BOXYARD_TOKEN_KEYS_FILE'].flatMap((name) => given[name] ?? []),
  ]
  const texts = [...files.map(tryReadText), ...SECRET_SETTINGS.map((name) => given[name] ?? '')]
  return [...texts.flatMap(secretsIn), ...environmentValues(join(dataDir, 'boxyard.db'))]
}

/** Returns the secrets in the text of a file of keys: of JSON its private strings, of PEM each line of a key, else the text itself. Pure. */
export function secretsIn(text: string): string[] {
  const json = orNull(() => JSON.parse(text) as unknown)
  if (json !== null && typeof json === 'object') return privateStrings(json)
  const lines = text.split('\n').map((line) => line.trim())
  if (text.includes('-----BEGIN ')) return keyLines(lines)
  // A kubeconfig has its secrets behind these names.
  const named = lines.flatMap(
    (line) => /^(?:- )?(?:token|client-key-data|password):\s*["']?([^"'\s]+)/.exec(line)?.[1] ?? [],
  )
  return named.length > 0 ? named : [text.trim()]
}

function privateStrings(value: object): string[] {
  return Object.entries(value).flatMap(([name, item]: [string, unknown]) => {
    if (typeof item === 'object' && item !== null) return privateStrings(item)
    return typeof item === 'string' && PRIVATE.has(name) ? [item] : []
  })
}

// A certificate is public. The key beside it in the file is not.
function keyLines(lines: readonly string[]): string[] {
  let isKey = false
  return lines.filter((line) => {
    if (line.startsWith('-----')) isKey = /BEGIN [A-Z ]*PRIVATE KEY/.test(line)
    return isKey && !line.startsWith('-----') && line !== ''
  })
}

function environmentValues(path: string): string[] {
  return orNull(() => readEnvironmentValues(path)) ?? []
}

function namesIn(directory: string): string[] {
  return orNull(() => readdirSync(directory)) ?? []
}

function orNull<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    // It is missing, not readable for this user, or of another version.
    return null
  }
}

const PRIVATE: ReadonlySet<string> = new Set(['d', 'secret', 'access_key_id', 'secret_access_key'])
