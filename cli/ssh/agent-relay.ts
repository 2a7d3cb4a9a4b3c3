import { PassThrough } from 'node:stream'
import type { TerminalStream } from '../../sdk/typescript/src/terminal-stream.ts'
import type { AgentOpener } from './agent-channels.ts'
import { type ClientChannel, createClientChannel } from './channels.ts'

/**
 * Forwards the connections of a command's programs to the SSH agent of a client, each over its own channel. The box chooses their number
 * and their bytes, so this limits both and closes connections beyond the limits.
 */
export class AgentRelay {
  readonly #open: AgentOpener
  readonly #gone: AbortSignal
  /** Bytes of each connection that the agent has not read yet. */
  readonly #incoming = new Map<number, PassThrough>()
  #stream: TerminalStream | null = null

  constructor(open: AgentOpener, gone: AbortSignal) {
    this.#open = open
    this.#gone = gone
  }

  /** Answers over the stream of the command. */
  attach(stream: TerminalStream): void {
    this.#stream = stream
  }

  /** Receives bytes of a program, as `StreamOptions.sshAgent`. */
  readonly take = (connection: number, bytes: Uint8Array): void => {
    const known = this.#incoming.get(connection)
    if (known === undefined) return this.#begin(connection, bytes)
    if (bytes.length === 0) known.end()
    else if (known.writable) known.write(bytes)
    if (known.writableLength + known.readableLength > UNREAD_BYTES) known.destroy(new Error('The agent does not read.'))
  }

  /** Closes all connections to the agent, once the command has ended. */
  close(): void {
    for (const incoming of this.#incoming.values()) incoming.destroy(new Error('The command has ended.'))
  }

  #begin(connection: number, bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#incoming.size >= CONNECTIONS_MAX || this.#gone.aborted)
      return void this.#answer(connection, NOTHING)
    const incoming = new PassThrough()
    incoming.on('error', () => undefined)
    incoming.write(bytes)
    this.#incoming.set(connection, incoming)
    void this.#serve(connection, incoming)
  }

  async #serve(connection: number, incoming: PassThrough): Promise<void> {
    const left = new AbortController()
    const isOver = AbortSignal.any([this.#gone, left.signal])
    try {
      const accepted = await this.#open()
      accepted.once('close', () => left.abort())
      // Closes at once, whether or not the agent reads.
      if (incoming.destroyed) accepted.close()
      incoming.once('error', () => accepted.close())
      const channel = createClientChannel(accepted, isOver)
      void pass(incoming, channel)
      for await (const bytes of channel.input) await this.#answer(connection, bytes)
      channel.close()
    } catch {
      // The client has no agent or is gone. The program finds its connection closed.
    } finally {
      incoming.destroy()
      this.#incoming.delete(connection)
      await this.#answer(connection, NOTHING)
    }
  }

  async #answer(connection: number, bytes: Uint8Array): Promise<void> {
    // Fails if the command has ended, as its output shows.
    await this.#stream?.answerAgent(connection, bytes).catch(() => undefined)
  }
}

/** Forwards the bytes of a connection to the agent, until either has ended. */
async function pass(incoming: PassThrough, channel: ClientChannel): Promise<void> {
  try {
    for await (const bytes of incoming) await channel.send('stdout', bytes as Uint8Array)
    channel.endOutput()
  } catch {
    // The connection was cut off, or the agent has closed its own.
    channel.close()
  }
}

const NOTHING = new Uint8Array()
/** The service's limit for a command. */
const CONNECTIONS_MAX = 8
/** Twice the longest message of OpenSSH's agent. */
const UNREAD_BYTES = 512 * 1024
