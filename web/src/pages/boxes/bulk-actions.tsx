import { useState } from 'react'
import { api } from '../../api/client.ts'
import type { Box } from '../../api/records.ts'
import { forEachBox, startBoxes, stopBoxes } from '../../shell/power.ts'
import { Button } from '../../ui/button.tsx'
import { Confirm } from '../../ui/confirm.tsx'

/** Actions on all chosen boxes. */
export function BulkActions({ boxes, clear }: { boxes: readonly Box[]; clear(): void }) {
  const [isAsking, setAsking] = useState(false)
  const running = boxes.filter(({ status }) => status === 'running')
  const stopped = boxes.filter(({ status }) => status === 'stopped')
  const names =
    boxes.length <= 5 ? boxes.map(({ project, name }) => `${project}/${name}`).join(', ') : `${boxes.length} boxes`
  return (
    <div
      role="toolbar"
      aria-label="Selected boxes"
      className="sticky bottom-2 z-20 flex flex-wrap items-center gap-2 rounded-lg border border-line bg-accent-soft p-2 shadow-lg"
    >
      <span className="px-2 font-medium">{boxes.length} selected</span>
      <Button disabled={running.length === 0} onClick={() => void stopBoxes(running)}>
        Stop {running.length}
      </Button>
      <Button disabled={stopped.length === 0} onClick={() => void startBoxes(stopped)}>
        Start {stopped.length}
      </Button>
      <Button kind="danger" onClick={() => setAsking(true)}>
        Delete {boxes.length}
      </Button>
      <Button kind="quiet" onClick={clear}>
        Clear selection
      </Button>
      <Confirm
        title={boxes.length === 1 ? 'Delete the box?' : `Delete ${boxes.length} boxes?`}
        about={`This permanently deletes ${names}, with their disks and snapshots. Data volumes stay.`}
        action="Delete"
        typed={String(boxes.length)}
        isOpen={isAsking}
        close={() => setAsking(false)}
        act={() => {
          void forEachBox(boxes, (box) => api().box(box.project, box.name).delete(), 'Deleted').then(clear)
        }}
      />
    </div>
  )
}
