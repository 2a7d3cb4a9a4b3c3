import { ServiceError } from '../../../shared/errors.ts'
import type { AttachedExec, HeldEnd, Typing } from '../../ports/boxes/runtime.ts'
import type { HolderLink } from './holder-link.ts'
import { ATTACH_VERSION } from './holder-protocol.ts'

/** A command or session, as it is known to an agent. */
export interface HeldEntry {
  readonly id: string
  readonly boxId: string
  /** Of its holder. */
  readonly version: number
  /** Null if nobody holds it (any more). */
  link: HolderLink | null
  isEnded: boolean
  ended: Promise<HeldEnd | null>
  settle(end: HeldEnd | null): void
  /** After its end a success. */
  signal(name: NodeJS.Signals): Promise<void>
}

/** What is known of it at first. */
export type EntryFacts = Pick<HeldEntry, 'id' | 'boxId' | 'version' | 'link'>

export function createHeldEntry(facts: EntryFacts, onSettled: () => void = () => undefined): HeldEntry {
  const { promise: ended, resolve } = Promise.withResolvers<HeldEnd | null>()
  const entry: HeldEntry = {
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

/** Attaches to the command or session `id` of the holder of `version`; throws as `attachToHolder`. */
export type Attach = (version: number, id: string, typing: Typing) => Promise<AttachedExec>

/**
 * Attaches to it at its holder; null if that does not hold it any more. Throws `runtime_unavailable`, also if its holder is too
 * old for that, and `rate_limited`.
 */
export async function attachToEntry(entry: HeldEntry, typing: Typing, attach: Attach): Promise<AttachedExec | null> {
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
