import { EventPages } from '../event-list.tsx'
import { useBoxRef } from './box.tsx'

/** What happened to one box, its snapshots, services and volumes, newest first. */
export function BoxActivity() {
  const { project, name } = useBoxRef()
  return (
    <div className="flex flex-col gap-4 p-4 md:p-6">
      <EventPages filter={{ project, kind: '', box: name }} />
    </div>
  )
}
