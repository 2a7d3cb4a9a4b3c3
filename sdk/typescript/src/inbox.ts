/** A message of a WebSocket, as bytes or text. */
export type Message = Uint8Array | string

/** Queue of messages that arrived over a socket and are not read yet. */
interface Inbox {
  /** Returns how many bytes then wait. */
  put(message: Message): number
  /** Counts only once. */
  close(code: number, reason: string): void
  /** Drops all messages. After that, `take` throws `reason`. */
  fail(reason: unknown): void
  take(): Promise<Message | null>
  takeReady(): Message | null
  /** Code and reason of the close, or null before it. */
  closed(): { code: number; reason: string } | null
}

/** Creates a queue of messages that stops its source while more than `maxBytes` wait. */
export function createInbox(source: { pause(): void; resume(): void }, maxBytes = QUEUED_MAX_BYTES): Inbox {
  const messages: Message[] = []
  let queuedBytes = 0
  let closed: { code: number; reason: string } | null = null
  let failure: { reason: unknown } | null = null
  let wake: (() => void) | null = null
  const takeReady = (): Message | null => {
    const message = messages.shift() ?? null
    queuedBytes -= message === null ? 0 : message.length + MESSAGE_COST
    if (queuedBytes <= maxBytes) source.resume()
    return message
  }
  return {
    put: (message) => {
      if (failure !== null) return 0
      messages.push(message)
      queuedBytes += message.length + MESSAGE_COST
      if (queuedBytes > maxBytes) source.pause()
      wake?.()
      return queuedBytes
    },
    close: (code, reason) => {
      closed ??= { code, reason }
      wake?.()
    },
    fail: (reason) => {
      failure ??= { reason }
      messages.length = 0
      wake?.()
    },
    take: async () => {
      while (messages.length === 0 && closed === null && failure === null)
        await new Promise<void>((resolve) => (wake = resolve))
      if (failure !== null) throw failure.reason as Error
      return takeReady()
    },
    takeReady,
    closed: () => closed,
  }
}

/** Memory that an empty message uses. */
const MESSAGE_COST = 64
const QUEUED_MAX_BYTES = 1024 * 1024
