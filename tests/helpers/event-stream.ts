import { expect } from '@jest/globals'

/** A stream of server-sent events, read as it arrives. */
export interface EventStream {
  text(): string
  ids(): string[]
  isOver(): boolean
  leave(): void
}

/** Opens a stream. Expects status 200 and the content type of server-sent events. */
export async function followEvents(url: string, headers: Record<string, string>): Promise<EventStream> {
  const leaving = new AbortController()
  const accept = { accept: 'text/event-stream', ...headers }
  const response = await fetch(url, { headers: accept, signal: leaving.signal })
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  let [text, isOver] = ['', false]
  const read = async (): Promise<void> => {
    const decoder = new TextDecoder()
    for await (const piece of response.body ?? []) text += decoder.decode(piece as Uint8Array, { stream: true })
  }
  void read()
    .catch(() => undefined)
    .then(() => {
      isOver = true
    })
  const ids = (): string[] => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => String(id))
  return { text: () => text, ids, isOver: () => isOver, leave: () => leaving.abort() }
}
