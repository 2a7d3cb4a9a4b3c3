import { EventPages } from '../event-list.tsx'
import { useBoxRef } from './box.tsx'

/** Lists what happened to one box, newest first, with its snapshots and services. */
export function BoxActivity() {
  const { project, name } = useBoxRef()
  return (
    <div className="flex flex-col gap-4 p-4 md:p-6">
      <EventPages filter={{ project, kind: '', box: name }} />
    </div>
  )
}
