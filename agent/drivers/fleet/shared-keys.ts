import { type KeySets, parseBackupKeys, parseChannelKeys, parseTokenKeys } from '../../../shared/auth/keys.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { StoredKeys } from '../../lib/disk/key-files.ts'
import type { KubeApi } from '../../lib/kube/api.ts'

/** The keys of a fleet: one Secret, which all its agents read and write. */
export interface SharedKeys {
  /**
   * Reads the keys.
   * @throws ServiceError `runtime_unavailable` if they cannot be read, or Error, without the text, for malformed keys
   */
  read(): Promise<KeysInSecret>
  /** Replaces the keys in `read` with `next`, one generation later. Resolves to false if others have changed them since. */
  replace(read: KeysInSecret, next: StoredKeys): Promise<boolean>
  /** Calls `listener` whenever the keys may have changed. Resolves once it follows, or cannot now. */
  follow(listener: () => void): Promise<void>
}

/** Content of the Secret. */
export interface KeysInSecret {
  /** Null if no agent has stored any yet. */
  keys: StoredKeys | null
  version: string
}

/** Opens the Secret `boxyard-keys` (infra/kubernetes/fleet-keys.yaml). */
export function openSharedKeys(api: Pick<KubeApi, 'secret'>): SharedKeys {
  const secret = api.secret(SECRET)
  return {
    read: async () => {
      const stored = await secret.read()
      if (stored === null) throw missing()
      return { keys: decodeKeys(stored.data), version: stored.version }
    },
    replace: ({ version }, next) => secret.replace({ version, data: {} }, encodeKeys(next)),
    follow: (listener) => secret.follow(listener).start(),
  }
}

function encodeKeys({ channel, tokens, backups, generation }: StoredKeys): Record<string, string> {
  return {
    [FIELDS.channel]: JSON.stringify(channel),
    [FIELDS.tokens]: JSON.stringify(tokens),
    [FIELDS.backups]: JSON.stringify(backups),
    [FIELDS.generation]: String(generation),
  }
}

function decodeKeys(data: Readonly<Record<string, string>>): StoredKeys | null {
  const { [FIELDS.channel]: channel, [FIELDS.tokens]: tokens, [FIELDS.generation]: generation } = data
  const { [FIELDS.backups]: backups } = data
  if (channel === undefined && tokens === undefined) return null
  const sets: KeySets = {
    channel: parsed(FIELDS.channel, () => parseChannelKeys(channel ?? '')),
    tokens: parsed(FIELDS.tokens, () => parseTokenKeys(tokens ?? '')),
    // Cells of an earlier version stored none there.
    backups: backups === undefined ? { keys: [] } : parsed(FIELDS.backups, () => parseBackupKeys(backups)),
  }
  return { ...sets, generation: /^\d{1,15}$/.test(generation ?? '') ? Number(generation) : 1 }
}

function parsed<T>(field: string, parse: () => T): T {
  try {
    return parse()
  } catch (cause) {
    const fault = cause instanceof Error ? cause.message : 'is not well-formed'
    throw new Error(`${field} of the Secret ${SECRET.name} ${fault}.`, { cause })
  }
}

function missing(): ServiceError {
  return new ServiceError(
    'runtime_unavailable',
    `The cluster has no Secret "${SECRET.name}" in namespace "${SECRET.namespace}". Apply the manifests of infra/kubernetes again.`,
  )
}

const SECRET = { namespace: 'boxyard-system', name: 'boxyard-keys' }
const FIELDS = {
  channel: 'channel.json',
  tokens: 'token-private.json',
  backups: 'backup.json',
  generation: 'generation',
}
