import { TriangleAlert } from 'lucide-react'
import { useState, useSyncExternalStore } from 'react'
import { dismissFailed, failedJobs, type JobInput, watchJobs } from '../api/jobs.ts'
import { Button } from './button.tsx'

/** Keeps the values of a form that is shown again. `show` opens it with them, and `close` closes it and clears them. */
export function useAgain(dialog: { open(input: JobInput): void; close(): void }) {
  const [input, setInput] = useState<JobInput>({})
  const show = (failed: JobInput): void => {
    setInput(failed)
    dialog.open(failed)
  }
  const close = (): void => {
    setInput({})
    dialog.close()
  }
  return { input, show, close }
}

/** The work of a place that failed after its form was closed, each with its reason. `again` reopens the form with its values. */
export function FailedJobs({ place, again }: { place: string; again(input: JobInput): void }) {
  const jobs = useSyncExternalStore(watchJobs, failedJobs).filter((job) => job.place === place)
  if (jobs.length === 0) return null
  return (
    <ul aria-label="Failed" className="flex flex-col gap-2">
      {jobs.map(({ id, words, reason, code, requestId, input }) => (
        <li key={id} className="flex flex-wrap items-center gap-3 rounded-lg border border-bad bg-bad-soft p-3">
          <TriangleAlert aria-hidden className="size-4 shrink-0 text-bad" />
          <div className="min-w-0 flex-1 basis-60">
            <p className="break-words">
              <span className="font-medium">{words}</span> failed: {reason}
            </p>
            {code !== null && (
              <p className="mt-1 font-mono text-xs text-muted">
                {code} <span className="break-all select-all">{requestId}</span>
              </p>
            )}
          </div>
          <span className="flex gap-2">
            <Button aria-label={`Try again: ${words}`} onClick={() => again(input)}>
              Try again
            </Button>
            <Button kind="quiet" aria-label={`Dismiss: ${words}`} onClick={() => dismissFailed(id)}>
              Dismiss
            </Button>
          </span>
        </li>
      ))}
    </ul>
  )
}
