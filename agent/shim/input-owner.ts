import type { Writable } from 'node:stream'
import type { Terminal, TerminalSize, Typing } from '../ports/boxes/runtime.ts'

/** The input of what is held, and who of its viewers may type. */
export interface InputOwner<V> {
  join(viewer: V, typing: Typing): void
  leave(viewer: V): void
  /** Input of a viewer. False: it is to send no more until its `onRoom` is called. */
  type(viewer: V, bytes: Buffer): boolean
  /** The end of a viewer's input. */
  endInput(viewer: V): void
  /** What a viewer would have the terminal be. */
  resize(viewer: V, size: TerminalSize): void
}

export interface InputOwnerOptions<V> {
  stdin: Writable
  terminal: Terminal | null
  endsInput: boolean
  /** There is room for input again. */
  onRoom(viewer: V): void
  /** The terminal has another size. */
  onSize(size: TerminalSize): void
}

/** A keyboard nobody is at. Input goes nowhere where the viewer may not type, or nobody can read it any more. */
export function createInputOwner<V>({
  stdin,
  terminal,
  endsInput,
  onRoom,
  onSize,
}: InputOwnerOptions<V>): InputOwner<V> {
  const typings = new Map<V, Typing>()
  const wishes = new Map<V, TerminalSize>()
  const waiting = new Set<V>()
  const mayType = (viewer: V): boolean => {
    const alone = [...typings].findLast(([, typing]) => typing === 'one')?.[0]
    return alone === undefined ? typings.get(viewer) === 'all' : alone === viewer
  }
  const apply = (size: TerminalSize): void => {
    try {
      terminal?.resize(size)
    } catch {
      // One that is gone has no size, and is no reason for whoever leaves to take everything along.
      return
    }
    onSize(size)
  }
  const goOn = (): void => {
    const viewers = [...waiting]
    waiting.clear()
    viewers.forEach(onRoom)
  }
  stdin.on('drain', goOn).on('close', goOn)
  return {
    join: (viewer, typing) => void typings.set(viewer, typing),
    leave: (viewer) => {
      typings.delete(viewer)
      waiting.delete(viewer)
      // Whoever has the keyboard now gets what it last asked for.
      if (!wishes.delete(viewer)) return
      const wish = [...wishes].findLast(([each]) => mayType(each))?.[1]
      if (wish !== undefined) apply(wish)
    },
    type: (viewer, bytes) => {
      if (!mayType(viewer) || !stdin.writable || stdin.write(bytes)) return true
      waiting.add(viewer)
      return false
    },
    endInput: (viewer) => {
      if (endsInput && mayType(viewer)) stdin.end()
    },
    resize: (viewer, size) => {
      if (!typings.has(viewer) || typings.get(viewer) === 'none') return
      wishes.delete(viewer)
      wishes.set(viewer, size)
      if (mayType(viewer)) apply(size)
    },
  }
}
