import { api } from '../api/client.ts'
import type { Box } from '../api/records.ts'
import { tell, tellError } from '../ui/toasts.tsx'
import { boxResource } from '../ui/undo-end.ts'

/** Stops boxes, with an undo that starts them. */
export async function stopBoxes(boxes: readonly Box[]): Promise<void> {
  await forEachBox(
    boxes,
    (box) => api().box(box.project, box.name).stop(),
    'Stopped',
    (stopped) => void startBoxes(stopped),
  )
}

/** Starts boxes. */
export async function startBoxes(boxes: readonly Box[]): Promise<void> {
  await forEachBox(boxes, (box) => api().box(box.project, box.name).resume(), 'Started')
}

/** Calls `act` for each box, a few at a time, and reports how many succeeded and failed. `undo` gets the successful ones. */
export async function forEachBox(
  boxes: readonly Box[],
  act: (box: Box) => Promise<Box | void>,
  ...[word, undo]: [word: string, undo?: (boxes: readonly Box[]) => void]
): Promise<void> {
  const left = [...boxes]
  const done: Box[] = []
  let since = ''
  let failed = 0
  const work = async (): Promise<void> => {
    for (let box = left.shift(); box; box = left.shift()) {
      try {
        const after = await act(box)
        if (after && after.state.since > since) since = after.state.since
        done.push(box)
      } catch (error) {
        failed++
        if (failed <= ERRORS_TOLD) tellError(error)
      }
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  const [first] = done
  const which = done.length === 1 ? `${first?.project}/${first?.name}` : `${done.length} boxes`
  const rest = failed === 0 ? '.' : `. ${failed} failed.`
  const end = { of: done.map(boxResource), done: ['box.resume_requested'], since }
  if (done.length > 0) tell(`${word} ${which}${rest}`, undo && (() => undo(done)), end)
}

const ERRORS_TOLD = 3
const AT_ONCE = 6
