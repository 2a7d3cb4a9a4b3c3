import { useEffect, useSyncExternalStore } from 'react'
import { currentJobs, resumeJobs, watchJobs } from '../api/jobs.ts'
import { Button } from './button.tsx'
import { ProgressBar } from './progress-bar.tsx'
import { tell, tellError } from './toasts.tsx'

/** The current work of a place, with its progress. */
export function Jobs({ place }: { place: string }) {
  const jobs = useSyncExternalStore(watchJobs, currentJobs).filter((job) => job.place === place)
  useEffect(() => resumeJobs((words, error) => (error === null ? tell(`${words}: done.`) : tellError(error))), [])
  return (
    <div role="status" aria-label="Under way" className="flex flex-col gap-2 empty:hidden">
      {jobs.map(({ id, words, progress, stop }) => (
        <div key={id} className="rounded-lg border border-line bg-panel p-3">
          <div className="flex items-center justify-between gap-3">
            <span>{words}…</span>
            <span className="flex items-center gap-2 text-muted tabular-nums">
              {progress === null ? '' : `${Math.round(100 * progress)} %`}
              {stop && (
                <Button kind="quiet" aria-label={`Stop: ${words}`} onClick={stop}>
                  Stop
                </Button>
              )}
            </span>
          </div>
          <ProgressBar label={words} percent={progress === null ? null : 100 * progress} className="mt-2 h-2" />
        </div>
      ))}
    </div>
  )
}
