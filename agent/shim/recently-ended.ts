import type { Attachments } from './attachments.ts'

/** What has ended lately: whoever began it, and was about to attach, still learns what it said. */
export interface RecentlyEnded {
  /** Those that are attachable, or have viewers still. */
  readonly count: number
  find(id: string): Attachments | null
  /** Keeps it for 5 s, or until `max` later ones came; resolves after that, when nobody is attached any more. */
  add(id: string, audience: Attachments): Promise<void>
}

export function createRecentlyEnded(max: number): RecentlyEnded {
  const entries = new Map<string, { audience: Attachments; expire(): void }>()
  let count = 0
  return {
    get count() {
      return count
    },
    find: (id) => entries.get(id)?.audience ?? null,
    add: async (id, audience) => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const timer = setTimeout(resolve, PAST_MS)
      entries.set(id, { audience, expire: resolve })
      count += 1
      if (entries.size > max) entries.values().next().value?.expire()
      await promise
      clearTimeout(timer)
      entries.delete(id)
      await audience.empty()
      count -= 1
    },
  }
}

const PAST_MS = 5_000
