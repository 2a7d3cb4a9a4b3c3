import { Duplex } from 'node:stream'
import { countPassedBytes } from '../passing-bytes.ts'

/**
 * Joins this process's stdin and stdout to one stream. The stream is destroyed when the parent of the process ends, and by termination
 * signals.
 */
export function joinStdio({ stdin, stdout }: Pick<NodeJS.Process, 'stdin' | 'stdout'>): Duplex {
  const transport: Duplex = new Duplex({
    read: () => void stdin.resume(),
    write: (bytes: Buffer, _encoding, done) => {
      countPassedBytes(bytes.length)
      stdout.write(bytes, done)
    },
    writev: (pieces: { chunk: Buffer }[], done) => {
      // One system call for all pieces, uncopied.
      stdout.cork()
      for (const [index, { chunk }] of pieces.entries()) {
        countPassedBytes(chunk.length)
        stdout.write(chunk, index === pieces.length - 1 ? done : undefined)
      }
      stdout.uncork()
    },
  })
  gatherWrites(transport)
  // The reader has left.
  stdout.on('error', () => transport.destroy())
  stdin.on('error', () => transport.destroy()).once('end', () => transport.push(null))
  stdin.on('data', (bytes: Buffer) => {
    countPassedBytes(bytes.length)
    if (!transport.push(bytes)) stdin.pause()
  })
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.once(signal, () => transport.destroy())
  return transport
}

/** Joins what is written in one turn of the event loop, because ssh2 writes each packet in three parts. */
function gatherWrites(transport: Duplex): void {
  const write = transport.write.bind(transport) as (...args: unknown[]) => boolean
  transport.write = (...args: unknown[]): boolean => {
    if (transport.writableCorked === 0) {
      transport.cork()
      process.nextTick(() => transport.uncork())
    }
    return write(...args)
  }
}
