import { afterEvent, type TellingEvent, type UndoEnd } from './undo-end.ts'

/** A temporary message about an action or a failure. */
export interface Notice {
  id: number
  text: string | null
  error: unknown
  undo: (() => void) | undefined
  /** When it can no longer be undone. Null if nothing reports that. */
  end: UndoEnd | null
}

/** The messages of a page, newest last. */
export interface Notices {
  add(notice: Omit<Notice, 'id'>, lifeMs: number): void
  dismiss(id: number): void
  /** Removes every undo that can no longer be done after an event, or has been done, with its message. */
  take(event: TellingEvent): void
  /** Stops the time of all messages while the user is at one, or resumes it. */
  hold(isHeld: boolean): void
  list(): readonly Notice[]
  watch(listener: () => void): () => void
}

/** Creates messages that each disappear when their time has passed. While held, they keep their remaining time. */
export function createNotices(): Notices {
  let shown: readonly Notice[] = []
  let isHeld = false
  let nextId = 1
  const lives = new Map<number, Life>()
  const listeners = new Set<() => void>()
  const set = (next: readonly Notice[]): void => {
    shown = next
    for (const listener of listeners) listener()
  }
  const dismiss = (id: number): void => {
    stop(lives.get(id))
    lives.delete(id)
    // No user is at a message that is gone.
    if (lives.size === 0) isHeld = false
    set(shown.filter((notice) => notice.id !== id))
  }
  const start = (id: number, life: Life): void => {
    life.since = performance.now()
    life.timer = setTimeout(() => dismiss(id), life.leftMs)
  }
  return {
    add: (notice, lifeMs) => {
      const id = nextId++
      const life: Life = { leftMs: lifeMs, since: 0, timer: undefined }
      // The same message again. An older undo would also revert later changes.
      for (const old of shown) if (notice.undo && old.undo && old.text === notice.text) dismiss(old.id)
      for (const old of shown.slice(0, -(SHOWN_MAX - 1))) dismiss(old.id)
      lives.set(id, life)
      if (!isHeld) start(id, life)
      set([...shown, { ...notice, id }])
    },
    dismiss,
    take: (event) => {
      const after = new Map<number, UndoEnd | null>()
      for (const { id, end } of shown) if (end !== null) after.set(id, afterEvent(end, event))
      if (shown.every(({ id, end }) => end === (after.get(id) ?? null))) return
      set(shown.map((notice) => ({ ...notice, end: after.get(notice.id) ?? null })))
      for (const [id, end] of after) if (end === null) dismiss(id)
    },
    hold: (held) => {
      if (held === isHeld) return
      isHeld = held
      for (const [id, life] of lives) {
        if (held) stop(life)
        else start(id, life)
      }
    },
    list: () => shown,
    watch: (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

interface Life {
  leftMs: number
  since: number
  timer: ReturnType<typeof setTimeout> | undefined
}

function stop(life: Life | undefined): void {
  if (life?.timer === undefined) return
  clearTimeout(life.timer)
  life.timer = undefined
  life.leftMs = Math.max(0, life.leftMs - (performance.now() - life.since))
}

const SHOWN_MAX = 4
