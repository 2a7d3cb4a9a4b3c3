import type { AnswerOf, FullAnswer } from '@boxyard/sdk'
import { api } from './client.ts'

/** Work of the service that goes on after its answer, such as a backup. */
export interface Job {
  /** Id of its operation. */
  id: string
  /** What is done, such as `Backing up demo/db`. */
  words: string
  /** The page that shows it, such as `volume demo/db`. */
  place: string
  /** From 0 to 1; null while it is unknown. */
  progress: number | null
  /** Ends it before it is done; left out where it cannot be. */
  stop?: (() => void) | undefined
}

let jobs: readonly Job[] = []
const listeners = new Set<() => void>()

/** Returns the jobs under way. */
export function currentJobs(): readonly Job[] {
  return jobs
}

/** Calls `listener` whenever a job begins, moves on or ends, until the function that is returned is called. */
export function watchJobs(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Begins work that may outlive its answer, and resolves when it has ended, with its operation; with null if it was done at once.
 * @throws ApiError that of the answer, or of the operation
 */
export async function runJob(
  words: Omit<Job, 'id' | 'progress'>,
  begin: () => Promise<FullAnswer<unknown>>,
): Promise<AnswerOf<'getOperation'> | null> {
  const { status, headers } = await begin()
  const location = headers.get('operation-location')
  if (status !== 202 || location === null) return null
  const id = location.slice(location.lastIndexOf('/') + 1)
  set([...jobs, { ...words, id, progress: null }])
  try {
    return await follow(id)
  } finally {
    set(jobs.filter((job) => job.id !== id))
  }
}

async function follow(id: string): Promise<AnswerOf<'getOperation'>> {
  for (;;) {
    const operation = await api().call('getOperation', { path: { operation: id }, query: { wait_seconds: 1 } })
    // That of a failed one throws its problem.
    if (operation.status !== 'running') return api().waitForOperation(id)
    set(jobs.map((job) => (job.id === id ? { ...job, progress: operation.progress } : job)))
  }
}

function set(next: readonly Job[]): void {
  jobs = next
  for (const listener of listeners) listener()
}
