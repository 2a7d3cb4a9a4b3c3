import type { Writable } from 'node:stream'
import type { Terminal, TerminalSize, Typing } from '../ports/boxes/runtime.ts'

/** Arbitrates which viewers of a command or session may type, and sizes the terminal for them. */
export interface InputOwner<V> {
  join(viewer: V, typing: Typing): void
  leave(viewer: V): void
  /** Writes a viewer's input. Returns false if it must wait for `onWritable`. */
  write(viewer: V, bytes: Buffer): boolean
  /** Handles the end of a viewer's input. */
  endInput(viewer: V): void
  /** Sets the size that a viewer wants for the terminal. */
  resize(viewer: V, size: TerminalSize): void
}

export interface InputOwnerOptions<V> {
  stdin: Writable
  terminal: Terminal | null
  endsInput: boolean
  /** Called when a viewer that had to wait may write again. */
  onWritable(viewer: V): void
  /** Called when the terminal has another size. */
  onSize(size: TerminalSize): void
}

/** Starts without viewers. Drops input of viewers that may not type, and all input once the command's is closed. */
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
  const mayType = (viewer: V): boolean => {
    const exclusive = [...typings].findLast(([, typing]) => typing === 'one')?.[0]
    return exclusive === undefined ? typings.get(viewer) === 'all' : exclusive === viewer
  }
  const apply = (size: TerminalSize): void => {
    try {
      terminal?.resize(size)
    } catch {
      // The terminal is gone; that must not fail the leave of a viewer.
      return
    }
    onSize(size)
  }
  const resumeWaiting = (): void => {
    const viewers = [...waiting]
    waiting.clear()
    viewers.forEach(onWritable)
  }
  stdin.on('drain', resumeWaiting).on('close', resumeWaiting)
  return {
    join: (viewer, typing) => void typings.set(viewer, typing),
    leave: (viewer) => {
      typings.delete(viewer)
      waiting.delete(viewer)
      // Apply the size that the viewer who types now last asked for.
      if (!sizes.delete(viewer)) return
      const size = [...sizes].findLast(([each]) => mayType(each))?.[1]
      if (size !== undefined) apply(size)
    },
    write: (viewer, bytes) => {
      if (!mayType(viewer) || !stdin.writable || stdin.write(bytes)) return true
      waiting.add(viewer)
      return false
    },
    endInput: (viewer) => {
      if (endsInput && mayType(viewer)) stdin.end()
    },
    resize: (viewer, size) => {
      if (!typings.has(viewer) || typings.get(viewer) === 'none') return
      sizes.delete(viewer)
      sizes.set(viewer, size)
      if (mayType(viewer)) apply(size)
    },
  }
}
