import type { Writable } from 'node:stream'
import type { Terminal, TerminalSize, Typing } from '../ports/boxes/runtime.ts'

/** Arbitrates which clients of a command or session may type, and sizes the terminal for them. */
export interface InputOwner<V> {
  join(client: V, typing: Typing): void
  leave(client: V): void
  /** Writes a client's input. Returns false if it must wait for `onWritable`. */
  write(client: V, bytes: Buffer): boolean
  /** Handles the end of a client's input. */
  endInput(client: V): void
  /** Sets the size that a client wants for the terminal. */
  resize(client: V, size: TerminalSize): void
}

export interface InputOwnerOptions<V> {
  stdin: Writable
  terminal: Terminal | null
  endsInput: boolean
  /** Called when a client that had to wait may write again. */
  onWritable(client: V): void
  /** Called when the terminal has another size. */
  onSize(size: TerminalSize): void
}

/** Starts without clients. Drops input of clients that may not type, and all input once the command's is closed. */
export function createInputOwner<V>({
  stdin,
  terminal,
  endsInput,
  onWritable,
  onSize,
}: InputOwnerOptions<V>): InputOwner<V> {
  const typings = new Map<V, Typing>()
  const sizes = new Map<V, TerminalSize>()
  const waiting = new Set<V>()
  const mayType = (client: V): boolean => {
    const exclusive = [...typings].findLast(([, typing]) => typing === 'one')?.[0]
    return exclusive === undefined ? typings.get(client) === 'all' : exclusive === client
  }
  const apply = (size: TerminalSize): void => {
    try {
      terminal?.resize(size)
    } catch {
      // The terminal is gone. That must not fail the leave of a client.
      return
    }
    onSize(size)
  }
  const resumeWaiting = (): void => {
    const clients = [...waiting]
    waiting.clear()
    clients.forEach(onWritable)
  }
  stdin.on('drain', resumeWaiting).on('close', resumeWaiting)
  return {
    join: (client, typing) => void typings.set(client, typing),
    leave: (client) => {
      typings.delete(client)
      waiting.delete(client)
      // Applies the size that the typing client last asked for.
      if (!sizes.delete(client)) return
      const size = [...sizes].findLast(([each]) => mayType(each))?.[1]
      if (size !== undefined) apply(size)
    },
    write: (client, bytes) => {
      if (!mayType(client) || !stdin.writable || stdin.write(bytes)) return true
      waiting.add(client)
      return false
    },
    endInput: (client) => {
      if (endsInput && mayType(client)) stdin.end()
    },
    resize: (client, size) => {
      if (!typings.has(client) || typings.get(client) === 'none') return
      sizes.delete(client)
      sizes.set(client, size)
      if (mayType(client)) apply(size)
    },
  }
}
