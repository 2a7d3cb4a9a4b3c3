import type { OpenFlow } from './flow-turns.ts'

/**
 * Returns how an answer of a media type flows. Bytes take the turns of `open`. In a stream of events only long pieces take turns, such as
 * the stored history of a log. A live event is short and never waits.
 */
export function answerFlow(type: string | null | undefined, open: OpenFlow): OpenFlow {
  if (type?.startsWith('text/event-stream') !== true) return open
  return (valve) => {
    const flow = open(valve)
    return {
      count: (sizeBytes) => {
        if (sizeBytes > LIVE_BYTES) flow.count(sizeBytes)
      },
      ask: (sizeBytes) => {
        if (sizeBytes > LIVE_BYTES) flow.ask(sizeBytes)
      },
      hurry: (sizeBytes) => flow.hurry(sizeBytes),
      close: () => flow.close(),
    }
  }
}

/** The longest piece that counts as live. */
const LIVE_BYTES = 16 * 1024
