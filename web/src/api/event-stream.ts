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
  for await (const piece of body) {
    const blocks = (rest + decoder.decode(piece, { stream: true })).replaceAll('\r\n', '\n').split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) yield parseMessage(block)
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
