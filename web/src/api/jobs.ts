import { type AnswerOf, ApiError, type FullAnswer } from '@boxyard/sdk'
import { api } from './client.ts'
import { errorWords } from './error-words.ts'

/** Work of the service that continues after its answer, such as a backup. */
export interface Job {
  /** Id of its operation. */
  id: string
  /** The action, such as `Backing up demo/db`. */
  words: string
  /** The page that shows it, such as `volume demo/db`. */
  place: string
  /** From 0 to 1, or null while it is unknown. */
  progress: number | null
  /** Ends the work early. Absent if that is impossible. */
  stop?: (() => void) | undefined
  /** The fields of its form, to request it again after a failure. Absent without a form. */
  input?: JobInput | undefined
}

/** The values of a form. None is secret, because the tab stores them. */
export type JobInput = Readonly<Record<string, string>>

/** Work that has failed after its form was closed. */
export interface FailedJob {
  id: string
  words: string
  place: string
  /** The reason in words. */
  reason: string
  code: string | null
  requestId: string | null
  input: JobInput
}

/** Storage key for the jobs that a tab follows, across reloads. */
const KEPT = 'boxyard.jobs'
const KEPT_FAILED = 'boxyard.failed-jobs'
let jobs: readonly Job[] = []
let failed: readonly FailedJob[] | null = null
/** Ids of the jobs that were stopped here. */
const stopped = new Set<string>()
let isResumed = false
const listeners = new Set<() => void>()

/** Returns the jobs under way. */
export function currentJobs(): readonly Job[] {
  return jobs
}

/** Returns the failed work of this tab that was neither dismissed nor requested again. */
export function failedJobs(): readonly FailedJob[] {
  failed ??= readKept<FailedJob>(KEPT_FAILED)
  return failed
}

/** Removes failed work from the list. */
export function dismissFailed(id: string): void {
  setFailed(failedJobs().filter((job) => job.id !== id))
}

/** Calls `listener` whenever a job begins, progresses, ends or fails, until the returned function is called. */
export function watchJobs(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/**
 * Begins work that may outlive its answer. Resolves when it has ended with its operation, or with null if it was done at once.
 * @throws ApiError from the answer, or from the operation
 */
export async function runJob(
  words: Omit<Job, 'id' | 'progress'>,
  begin: () => Promise<FullAnswer<unknown>>,
): Promise<AnswerOf<'getOperation'> | null> {
  const { status, headers } = await begin()
  const location = headers.get('operation-location')
  if (status !== 202 || location === null) return null
  const id = location.slice(location.lastIndexOf('/') + 1)
  const { stop, input } = words
  if (input) setFailed(failedJobs().filter((job) => job.place !== words.place || !isSame(job.input, input)))
  const stopHere = (): void => {
    stopped.add(id)
    stop?.()
  }
  return followJob({ ...words, id, progress: null, stop: stop && stopHere })
}

/** Follows the jobs that this tab followed before a reload, once, and reports how each ends. */
export function resumeJobs(onEnd: (words: string, error: unknown) => void): void {
  if (isResumed) return
  isResumed = true
  for (const { id, words, place, input } of readKept<KeptJob>(KEPT)) {
    if (jobs.some((job) => job.id === id)) continue
    void followJob({ id, words, place, input, progress: null }).then(
      () => onEnd(words, null),
      (error: unknown) => onEnd(words, error),
    )
  }
}

/** Forgets the jobs of the session. */
export function forgetJobs(): void {
  jobs = []
  sessionStorage.removeItem(KEPT)
  setFailed([])
}

async function followJob(job: Job): Promise<AnswerOf<'getOperation'>> {
  set([...jobs, job])
  try {
    return await follow(job.id)
  } catch (error) {
    if (job.input && !stopped.has(job.id)) setFailed([...failedJobs(), failureOf(job, job.input, error)])
    throw error
  } finally {
    set(jobs.filter(({ id }) => id !== job.id))
  }
}

async function follow(id: string): Promise<AnswerOf<'getOperation'>> {
  for (;;) {
    const operation = await lookAt(id)
    // For a failed operation, throws its problem.
    if (operation !== null && operation.status !== 'running') return api().waitForOperation(id)
    set(jobs.map((job) => (job.id === id ? { ...job, progress: operation?.progress ?? job.progress } : job)))
  }
}

/** Returns an operation after a second, or null while the service is unreachable, which ends none of its work. */
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
  sessionStorage.setItem(KEPT, JSON.stringify(next.map(({ id, words, place, input }) => ({ id, words, place, input }))))
  for (const listener of listeners) listener()
}

function setFailed(next: readonly FailedJob[]): void {
  failed = next.slice(-FAILED_MAX)
  if (failed.length === 0) sessionStorage.removeItem(KEPT_FAILED)
  else sessionStorage.setItem(KEPT_FAILED, JSON.stringify(failed))
  for (const listener of listeners) listener()
}

function failureOf({ id, words, place }: Job, input: JobInput, error: unknown): FailedJob {
  const { code = null, requestId = null } = error instanceof ApiError ? error : {}
  return { id, words, place, reason: errorWords(error), code, requestId, input }
}

/** Returns whether two inputs create the same resource. */
function isSame(a: JobInput, b: JobInput): boolean {
  return a['project'] === b['project'] && a['name'] === b['name']
}

type KeptJob = Pick<Job, 'id' | 'words' | 'place' | 'input'>

function readKept<T>(key: string): readonly T[] {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? '[]') as T[]
  } catch {
    return []
  }
}

const PAUSE_MS = 2_000
const FAILED_MAX = 20
