import { ServiceError } from '../../../shared/errors.ts'
import type { AttachedExec, DetachedEnd, Typing } from '../../ports/boxes/runtime.ts'
import type { ShimConnection } from './shim-connection.ts'
import { ATTACH_VERSION } from './shim-protocol.ts'

/** A command or session, as it is known to an agent. */
export interface DetachedEntry {
  readonly id: string
  readonly boxId: string
  /** Of its shim. */
  readonly version: number
  /** Null if nobody holds it (any more). */
  link: ShimConnection | null
  isEnded: boolean
  ended: Promise<DetachedEnd | null>
  settle(end: DetachedEnd | null): void
  /** After its end a success. */
  signal(name: NodeJS.Signals): Promise<void>
}

/** What is known of it at first. */
export type EntryFacts = Pick<DetachedEntry, 'id' | 'boxId' | 'version' | 'link'>

export function createDetachedEntry(facts: EntryFacts, onSettled: () => void = () => undefined): DetachedEntry {
  const { promise: ended, resolve } = Promise.withResolvers<DetachedEnd | null>()
  const entry: DetachedEntry = {
    ...facts,
    ended,
    isEnded: false,
    settle: (end) => {
      entry.isEnded = true
      onSettled()
      resolve(end)
    },
    signal: async (name) => {
      if (!entry.isEnded) await entry.link?.signal(entry.id, name)
    },
  }
  return entry
}

/** Attaches to the command or session `id` of the shim of `version`; throws as `attachToHolder`. */
export type Attach = (version: number, id: string, typing: Typing) => Promise<AttachedExec>

/**
 * Attaches to it at its shim; null if that does not hold it any more. Throws `runtime_unavailable`, also if its shim is too
 * old for that, and `rate_limited`.
 */
export async function attachToEntry(
  entry: DetachedEntry,
  typing: Typing,
  attach: Attach,
): Promise<AttachedExec | null> {
  if (entry.version < ATTACH_VERSION) {
    if (entry.isEnded) return null
    throw new ServiceError('runtime_unavailable', 'It was started before an upgrade, by what lets nobody attach.')
  }
  if (entry.link === null && entry.isEnded) return null
  try {
    return await attach(entry.version, entry.id, typing)
  } catch (error) {
    const isGone = error instanceof ServiceError && error.code === 'exec_not_found'
    if (!isGone && !entry.isEnded) throw error
    return null
  }
}
