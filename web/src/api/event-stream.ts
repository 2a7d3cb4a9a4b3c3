/** A message of a stream of server-sent events. */
export interface StreamMessage {
  /** `message` if it has no name. */
  name: string
  /** The cursor. Empty if the message has none. */
  id: string
  data: string
}

/** Yields server-sent events as they arrive (HTML, 9.2.6), including those without data, because they advance the id. */
export async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<StreamMessage> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const piece of piecesOf(body)) {
    const text = rest + decoder.decode(piece, { stream: true })
    // The other half of a line end may be in the next piece.
    const whole = text.endsWith('\r') ? text.length - 1 : text.length
    const blocks = (text.slice(0, whole).replaceAll(LINE_END, '\n') + text.slice(whole)).split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) yield parseMessage(block)
  }
}

/** Ends a stream that has received nothing for longer than the service's heartbeat interval, because its connection is gone. */
export function withinSilence(stream: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const wait = (controller: TransformStreamDefaultController<Uint8Array>): void => {
    clearTimeout(timer)
    timer = setTimeout(() => controller.error(new Error('silence')), SILENCE_MS)
  }
  return stream.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      start: wait,
      transform: (piece, controller) => {
        wait(controller)
        controller.enqueue(piece)
      },
      flush: () => clearTimeout(timer),
    }),
  )
}

/** Iterates over a stream with its reader, because Safari cannot iterate streams. Stopping early cancels it. */
async function* piecesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    void reader.cancel().catch(() => undefined)
  }
}

function parseMessage(block: string): StreamMessage {
  const message: StreamMessage = { name: 'message', id: '', data: '' }
  for (const line of block.split('\n')) {
    const [, field = '', value = ''] = /^([^:]*): ?(.*)$/.exec(line) ?? []
    if (field === 'event') message.name = value
    else if (field === 'id') message.id = value
    else if (field === 'data') message.data += message.data === '' ? value : `\n${value}`
  }
  return message
}

const LINE_END = /\r\n|\r/g
/** The service sends a message every 15 s. */
const SILENCE_MS = 40_000
