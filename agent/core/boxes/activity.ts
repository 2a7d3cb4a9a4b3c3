/** Counts the uses of boxes from the outside: commands, and clients at consoles. */
export interface BoxActivity {
  /** Begins a use of a box. The function returned ends it, and may be called again. */
  begin(boxId: string): () => void
  /** True while a use is open. */
  isInUse(boxId: string): boolean
  /** Calls `listener` whenever a use of a box begins or ends. At most one listener. */
  onUse(listener: (boxId: string) => void): void
}

/** Holds one count for each box in use, bounded by the commands and streams that run. */
export function createBoxActivity(): BoxActivity {
  const open = new Map<string, number>()
  let onUse: (boxId: string) => void = () => undefined
  const change = (boxId: string, by: 1 | -1): void => {
    const count = (open.get(boxId) ?? 0) + by
    if (count > 0) open.set(boxId, count)
    else open.delete(boxId)
    onUse(boxId)
  }
  return {
    begin: (boxId) => {
      let isOver = false
      change(boxId, 1)
      return () => {
        if (!isOver) change(boxId, -1)
        isOver = true
      }
    },
    isInUse: (boxId) => open.has(boxId),
    onUse: (listener) => {
      onUse = listener
    },
  }
}
