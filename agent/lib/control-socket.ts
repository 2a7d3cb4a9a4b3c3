import { chmodSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { isErrno } from './syscalls/libc.ts'

/**
 * Answers requests of root on this host at a unix socket: one JSON value on each connection, both ways. Replaces the socket of an
 * earlier process. An error of `answer` is answered with its message. Returns a function that closes it.
 */
export async function serveControl(path: string, answer: (request: unknown) => Promise<unknown>): Promise<() => void> {
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    open.add(socket)
    socket.setTimeout(TIMEOUT_MS, () => socket.destroy())
    socket.on('error', () => undefined).once('close', () => open.delete(socket))
    void answerOne(socket, answer)
  })
  rmSync(path, { force: true })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(path, resolve)
  })
  chmodSync(path, 0o600)
  return () => {
    server.close()
    for (const socket of open) socket.destroy()
  }
}

/**
 * Sends a request to `serveControl` and resolves to its answer, or to null if no process listens there.
 * @throws Error with the message of the process that refuses it, or if it does not answer within 30 s
 */
export async function askControl(path: string, request: unknown): Promise<unknown> {
  const socket = createConnection(path)
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy(new Error('The agent does not answer.')))
  socket.end(JSON.stringify(request))
  try {
    const reply = JSON.parse(await text(socket)) as { answer?: unknown; error?: string }
    if (reply.error !== undefined) throw new Error(reply.error)
    return reply.answer
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ECONNREFUSED')) return null
    throw error
  }
}

async function answerOne(socket: Socket, answer: (request: unknown) => Promise<unknown>): Promise<void> {
  let reply: { answer?: unknown; error?: string }
  try {
    reply = { answer: await answer(JSON.parse(await text(socket))) }
  } catch (error) {
    reply = { error: error instanceof Error ? error.message : String(error) }
  }
  socket.end(JSON.stringify(reply))
}

const TIMEOUT_MS = 30_000
