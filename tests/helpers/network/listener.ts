import type { Readable } from 'node:stream'

/** Reads a stream to its end. */
export interface Listener {
  text(): string
  bytes(): Buffer
  /** Resolves once the text contains `wanted`. Rejects after 60 s. */
  until(wanted: string): Promise<void>
  /** Resolves at the end of the stream. Rejects if it breaks. */
  end: Promise<void>
}

export function listen(stream: Readable): Listener {
  let chunks: Buffer[] = []
  const waiting = new Set<() => void>()
  const bytes = (): Buffer => {
    chunks = [Buffer.concat(chunks)]
    return chunks[0] ?? Buffer.alloc(0)
  }
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    for (const look of waiting) look()
  })
  const end = new Promise<void>((resolve, reject) => {
    stream.once('end', resolve).once('error', reject)
    stream.once('close', () => reject(new Error('the stream broke')))
  })
  end.catch(() => undefined)
  const text = (): string => bytes().toString()
  return {
    text,
    bytes,
    end,
    until: (wanted) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look)
          reject(new Error(`it did not say ${JSON.stringify(wanted)} but ${JSON.stringify(text().slice(-2000))}`))
        }, 60_000)
        const look = (): void => {
          if (!text().includes(wanted)) return
          clearTimeout(timer)
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}
