import { type AnswerOf, ApiError, type FullAnswer } from '@boxyard/sdk'
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

/** Where a tab keeps what it follows, over reloads. */
const KEPT = 'boxyard.jobs'
let jobs: readonly Job[] = []
let isResumed = false
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
  return followJob({ ...words, id, progress: null })
}

/** Follows the jobs that this tab followed before it was loaded anew, once, and tells how each ends. */
export function resumeJobs(onEnd: (words: string, error: unknown) => void): void {
  if (isResumed) return
  isResumed = true
  for (const { id, words, place } of keptJobs()) {
    if (jobs.some((job) => job.id === id)) continue
    void followJob({ id, words, place, progress: null }).then(
      () => onEnd(words, null),
      (error: unknown) => onEnd(words, error),
    )
  }
}

/** Forgets what the session followed. */
export function forgetJobs(): void {
  jobs = []
  sessionStorage.removeItem(KEPT)
}

async function followJob(job: Job): Promise<AnswerOf<'getOperation'>> {
  set([...jobs, job])
  try {
    return await follow(job.id)
  } finally {
    set(jobs.filter(({ id }) => id !== job.id))
  }
}

async function follow(id: string): Promise<AnswerOf<'getOperation'>> {
  for (;;) {
    const operation = await lookAt(id)
    // That of a failed one throws its problem.
    if (operation !== null && operation.status !== 'running') return api().waitForOperation(id)
    set(jobs.map((job) => (job.id === id ? { ...job, progress: operation?.progress ?? job.progress } : job)))
  }
}

/** Returns an operation after a second; null while the service cannot be reached, which ends no work of it. */
async function lookAt(id: string): Promise<AnswerOf<'getOperation'> | null> {
  try {
    return await api().call('getOperation', { path: { operation: id }, query: { wait_seconds: 1 } })
  } catch (error) {
    if (error instanceof ApiError && error.status < 500) throw error
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    return null
  }
}

function set(next: readonly Job[]): void {
  jobs = next
  sessionStorage.setItem(KEPT, JSON.stringify(next.map(({ id, words, place }) => ({ id, words, place }))))
  for (const listener of listeners) listener()
}

function keptJobs(): readonly Pick<Job, 'id' | 'words' | 'place'>[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEPT) ?? '[]') as Pick<Job, 'id' | 'words' | 'place'>[]
  } catch {
    return []
  }
}

const PAUSE_MS = 2_000
