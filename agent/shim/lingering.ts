import type { OutputCollector } from '../lib/output/collector.ts'

/** Streams of ended commands: what they left running must not die of writing, nor may there be ever more of it. */
export interface LingeringProcesses {
  add(collector: OutputCollector): void
  readonly count: number
}

/** At most 256; the oldest goes first. `onReleased` is called whenever one is gone. */
export function createLingeringProcesses(onReleased: () => void): LingeringProcesses {
  const collectors = new Set<OutputCollector>()
  return {
    get count() {
      return collectors.size
    },
    add: (collector) => {
      collectors.add(collector)
      void collector.released.then(() => {
        collectors.delete(collector)
        onReleased()
      })
      const oldest = collectors.size > LINGERING_MAX ? collectors.values().next().value : undefined
      oldest?.release()
    },
  }
}

const LINGERING_MAX = 256
