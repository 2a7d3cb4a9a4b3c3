import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Box } from '../../api/records.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { boxResource } from '../../ui/undo-end.ts'

/** What can be done with the chosen boxes at once. */
export function BulkActions({ boxes, clear }: { boxes: readonly Box[]; clear(): void }) {
  const [isAsking, setAsking] = useState(false)
  const running = boxes.filter(({ status }) => status === 'running')
  const stopped = boxes.filter(({ status }) => status === 'stopped')
  const names =
    boxes.length <= 5 ? boxes.map(({ project, name }) => `${project}/${name}`).join(', ') : `${boxes.length} boxes`
  return (
    <div
      role="toolbar"
      aria-label="Chosen boxes"
      className="sticky bottom-2 z-20 flex flex-wrap items-center gap-2 rounded-lg border border-line bg-accent-soft p-2 shadow-lg"
    >
      <span className="px-2 font-medium">{boxes.length} chosen</span>
      <Button disabled={running.length === 0} onClick={() => void stopAll(running)}>
        Stop {running.length}
      </Button>
      <Button disabled={stopped.length === 0} onClick={() => void resumeAll(stopped)}>
        Resume {stopped.length}
      </Button>
      <Button kind="danger" onClick={() => setAsking(true)}>
        Delete {boxes.length}
      </Button>
      <Button kind="quiet" onClick={clear}>
        Choose none
      </Button>
      <Confirm
        title={boxes.length === 1 ? 'Delete the box?' : `Delete ${boxes.length} boxes?`}
        about={`${names}: their disks and snapshots are gone for good. Data volumes stay.`}
        action="Delete"
        typed={String(boxes.length)}
        isOpen={isAsking}
        close={() => setAsking(false)}
        act={() => {
          void each(boxes, (box) => api().box(box.project, box.name).delete(), 'deleted').then(clear)
        }}
      />
    </div>
  )
}

/** Stops boxes; what was stopped can be resumed at once. */
export async function stopAll(boxes: readonly Box[]): Promise<void> {
  await each(
    boxes,
    (box) => api().box(box.project, box.name).stop(),
    'stopped',
    (stopped) => void resumeAll(stopped),
  )
}

/** Resumes boxes. */
export async function resumeAll(boxes: readonly Box[]): Promise<void> {
  await each(boxes, (box) => api().box(box.project, box.name).resume(), 'resumed')
}

/** Does the same with each, a few at a time, and tells with how many it was done and failed; `undo` gets those with which it was done. */
async function each(
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
  const count = done.length === 1 ? `${first?.project}/${first?.name} is` : `${done.length} boxes are`
  const rest = failed === 0 ? '.' : `, ${failed} could not be.`
  const end = { of: done.map(boxResource), done: ['box.resume_requested'], since }
  if (done.length > 0) tell(`${count} ${word}${rest}`, undo && (() => undo(done)), end)
}

const ERRORS_TOLD = 3
const AT_ONCE = 6
