/** What is done in boxes from the outside: commands, and clients at consoles. */
export interface BoxActivity {
  /** Somebody begins to use a box; what is returned ends that, once. */
  begin(boxId: string): () => void
  /** Whether somebody uses it now. */
  isInUse(boxId: string): boolean
  /** Calls `listener` whenever a use of a box begins or ends; at most one listener. */
  onUse(listener: (boxId: string) => void): void
}

/** No box is in use so far. What it holds is bounded by the commands and streams that run. */
export function createBoxActivity(): BoxActivity {
  const open = new Map<string, number>()
  let tell: (boxId: string) => void = () => undefined
  const change = (boxId: string, by: 1 | -1): void => {
    const count = (open.get(boxId) ?? 0) + by
    if (count > 0) open.set(boxId, count)
    else open.delete(boxId)
    tell(boxId)
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
      tell = listener
    },
  }
}
