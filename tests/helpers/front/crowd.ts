import { connect, type Socket } from 'node:net'

/** A connection of a crowd. It sends nothing after its opening text. */
export interface CrowdMember {
  socket: Socket
  heard: string
  isClosed: boolean
}

/** Opens `count` connections from one loopback address to a port or to the path of a unix socket. Each first sends `text`. */
export async function openCrowd(
  to: number | string,
  count: number,
  { from = '127.0.0.1', text = '' }: { from?: string; text?: string } = {},
): Promise<CrowdMember[]> {
  const members = Array.from({ length: count }, (): CrowdMember => {
    const socket = typeof to === 'string' ? connect(to) : connect({ port: to, host: '127.0.0.1', localAddress: from })
    const member = { socket, heard: '', isClosed: false }
    socket.on('data', (chunk) => (member.heard += chunk.toString('latin1')))
    socket.on('error', () => undefined).on('close', () => (member.isClosed = true))
    if (text !== '') socket.write(text)
    return member
  })
  await Promise.all(
    members.map(
      ({ socket }) =>
        new Promise<void>((resolve) => {
          socket.once('connect', () => resolve()).once('close', () => resolve())
        }),
    ),
  )
  return members
}

/** Closes all connections of a crowd. */
export function disperse(members: readonly CrowdMember[]): void {
  for (const { socket } of members) socket.destroy()
}
