/** A message of a stream of server-sent events. */
export interface StreamMessage {
  /** `message` where it is not named. */
  name: string
  /** The cursor; empty where none was told. */
  id: string
  data: string
}

/** Reads server-sent events as they come (HTML, 9.2.6), those without data too: they move the id on. */
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

/** Goes through a stream by its reader: Safari does not iterate streams. Who stops early cancels it. */
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
