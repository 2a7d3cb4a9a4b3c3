import { Duplex } from 'node:stream'

/** Makes one stream of what this process reads and writes. It is destroyed when who started the process goes, and by the signals that end it. */
export function joinStdio({ stdin, stdout }: Pick<NodeJS.Process, 'stdin' | 'stdout'>): Duplex {
  const transport = new Duplex({
    read: () => void stdin.resume(),
    write: (bytes: Buffer, _encoding, done) => void stdout.write(bytes, done),
    writev: (pieces: { chunk: Buffer }[], done) =>
      void stdout.write(Buffer.concat(pieces.map(({ chunk }) => chunk)), done),
  })
  // Nobody reads any more.
  stdout.removeAllListeners('error').on('error', () => transport.destroy())
  stdin.on('error', () => transport.destroy()).once('end', () => transport.push(null))
  stdin.on('data', (bytes: Buffer) => {
    if (!transport.push(bytes)) stdin.pause()
  })
  for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.once(signal, () => transport.destroy())
  return transport
}
