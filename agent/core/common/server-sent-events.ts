/** One message of an event stream; without data it only moves the id that a client goes on from. */
export interface ServerSentEvent {
  id: string
  /** Left out: `message`. */
  event?: string
  data?: unknown
}

/** A message as it is sent: JSON never has a line break in it. */
export function encodeServerSentEvent({ id, event, data }: ServerSentEvent): string {
  const name = event === undefined ? '' : `event: ${event}\n`
  return data === undefined ? `id: ${id}\n: still here\n\n` : `id: ${id}\n${name}data: ${JSON.stringify(data)}\n\n`
}

/** The pieces that `make` gives; whoever reads no further aborts its signal at once, and `onEnd` is called once. */
export function streamServerSentEvents(
  make: (signal: AbortSignal) => AsyncGenerator<string>,
  onEnd: () => void,
): AsyncIterable<Uint8Array> & AsyncIterator<Uint8Array> {
  const end = new AbortController()
  end.signal.addEventListener('abort', onEnd, { once: true })
  const pieces = make(end.signal)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: async () => {
      try {
        const step = await pieces.next()
        if (step.done !== true) return { done: false, value: Buffer.from(step.value) }
      } catch (error) {
        end.abort()
        throw error
      }
      end.abort()
      return { done: true, value: undefined }
    },
    return: async () => {
      end.abort()
      await pieces.return(undefined)
      return { done: true, value: undefined }
    },
  }
}
