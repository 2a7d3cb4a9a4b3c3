import { api } from '../../../api/client.ts'
import type { Ref } from '../../../api/records.ts'
import { ForkDialog } from '../fork-dialog.tsx'

/** Creates another box with the disk of a snapshot. */
export function ForkSnapshot({ box, snapshot, close }: { box: Ref; snapshot: string | null; close(): void }) {
  const { project, name } = box
  return (
    <ForkDialog
      box={box}
      title={`Fork ${name} from ${snapshot ?? ''}`}
      about="Creates a box with the disk of this snapshot. This box and its snapshots do not change."
      ending={snapshot ?? ''}
      of={`${name}@${snapshot}`}
      isOpen={snapshot !== null}
      close={close}
      fork={(target) => api().createBox(project, { name: target, fork: `${name}@${snapshot}` })}
    />
  )
}
