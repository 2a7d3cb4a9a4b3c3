import { X } from 'lucide-react'
import { useSyncExternalStore } from 'react'
import { Problem } from './problem.tsx'

interface Toast {
  id: number
  text: string | null
  error: unknown
  undo: (() => void) | undefined
}

let toasts: readonly Toast[] = []
let nextId = 1
const listeners = new Set<() => void>()

function set(next: readonly Toast[]): void {
  toasts = next
  for (const listener of listeners) listener()
}

function add(toast: Omit<Toast, 'id'>, lifeMs: number): void {
  const id = nextId++
  set([...toasts.slice(-3), { ...toast, id }])
  setTimeout(() => dismiss(id), lifeMs)
}

function dismiss(id: number): void {
  set(toasts.filter((toast) => toast.id !== id))
}

/** Tells what was done, for some seconds; `undo` takes it back. */
export function tell(text: string, undo?: () => void): void {
  add({ text, error: null, undo }, undo ? 12_000 : 5_000)
}

/** Tells what failed. */
export function tellError(error: unknown): void {
  add({ text: null, error, undo: undefined }, 15_000)
}

/** Shows what was told. */
export function Toasts() {
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => toasts,
  )
  return (
    <div aria-live="polite" className="fixed right-4 bottom-4 z-50 flex w-80 max-w-[calc(100vw-2rem)] flex-col gap-2">
      {shown.map(({ id, text, error, undo }) =>
        text === null ? (
          <Problem key={id} error={error} />
        ) : (
          <div key={id} className="flex items-center gap-2 rounded-md border border-line bg-panel p-3 shadow-lg">
            <span className="flex-1 break-words">{text}</span>
            {undo && (
              <button
                type="button"
                className="font-medium text-accent underline"
                onClick={() => {
                  dismiss(id)
                  undo()
                }}
              >
                Undo
              </button>
            )}
            <button type="button" aria-label="Dismiss" onClick={() => dismiss(id)}>
              <X aria-hidden className="size-4" />
            </button>
          </div>
        ),
      )}
    </div>
  )
}
