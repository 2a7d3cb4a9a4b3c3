import { type Duplex, Readable } from 'node:stream'
import { encodeAgentData } from '../../../shared/http/exec-frames.ts'
import type { BoxSocket } from '../../ports/boxes/box-socket.ts'

/**
 * The connections of a box's programs to the SSH agent of a client, as the payloads of one channel. A payload has the number of its
 * connection, then bytes. Without bytes, it ends the direction of its sender. A connection is over once the client has ended its direction.
 */
export class AgentChannel {
  /** Payloads for the client, one a chunk. The programs wait while no client reads them. */
  readonly output: Readable
  readonly #socket: BoxSocket
  readonly #connections = new Map<number, Duplex>()
  #last = 0
  #closing: Promise<void> | null = null

  constructor(socket: BoxSocket) {
    this.#socket = socket
    this.output = new Readable({ objectMode: true, highWaterMark: WAITING_PAYLOADS, read: () => this.#resume() })
    socket.serve((connection) => this.#add(connection))
  }

  /** Takes bytes of the client for a connection, and drops them if the connection has ended. */
  take(id: number, bytes: Uint8Array): void {
    const connection = this.#connections.get(id)
    if (connection === undefined) return
    if (bytes.length === 0) return void connection.end(() => connection.destroy())
    if (connection.writable) connection.write(bytes)
    // Cuts off a program that does not read. Waiting would hold up the input of the command.
    if (this.#unreadBytes() > UNREAD_BYTES) connection.destroy()
  }

  /** Ends all connections, and removes the socket from the box. */
  close(): Promise<void> {
    if (this.#closing === null) {
      this.#closing = this.#socket.close()
      this.output.push(null)
    }
    return this.#closing
  }

  #add(connection: Duplex): void {
    const id = ++this.#last
    this.#connections.set(id, connection)
    let hasEnded = false
    const end = (): void => {
      if (!hasEnded) this.#send(id, NOTHING)
      hasEnded = true
    }
    connection.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) this.#send(id, chunk.subarray(at, at + PIECE_BYTES))
    })
    connection.once('end', end)
    connection.once('close', () => {
      this.#connections.delete(id)
      end()
    })
  }

  #send(id: number, bytes: Uint8Array): void {
    if (this.#closing === null && !this.output.push(encodeAgentData(id, bytes)))
      for (const each of this.#connections.values()) each.pause()
  }

  #resume(): void {
    for (const each of this.#connections.values()) each.resume()
  }

  #unreadBytes(): number {
    return [...this.#connections.values()].reduce((sum, { writableLength }) => sum + writableLength, 0)
  }
}

const NOTHING = new Uint8Array()
const WAITING_PAYLOADS = 16
const PIECE_BYTES = 32 * 1024
/** Twice the longest message of OpenSSH's agent. */
const UNREAD_BYTES = 512 * 1024
