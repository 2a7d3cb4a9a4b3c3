import { ServiceError } from '../../../shared/errors.ts'
import { createFairTurns, type FairTurns } from '../../../shared/fair-turns.ts'
import type { RateLimit } from '../../core/access/rate-limit.ts'
import type { Directory } from '../../ports/fleet/directory.ts'

export interface DirectoryReadsOptions {
  /** Counts each read of a project: reads come before the rate limit of the requests that cause them. */
  rateLimit: RateLimit
  turns?: FairTurns
}

/**
 * Returns a directory that reads by turns of projects what memory does not know, and at a bounded rate of each: requests for names that
 * do not exist would else keep the cluster busy, which all cells need.
 * @throws ServiceError `rate_limited` of its reads, for a project that has asked for too many, or waits too long
 */
export function readByTurns(
  directory: Directory,
  { rateLimit, turns = createFairTurns(AT_ONCE, WAITING_MAX) }: DirectoryReadsOptions,
): Directory {
  const begin = async (project: string | null): Promise<() => void> => {
    const owner = project === null ? 'all projects' : `project ${project}`
    rateLimit(`reads of ${owner}`)
    return (
      turns.take(owner) ??
      turns.wait(owner, AbortSignal.timeout(WAIT_MS)).catch((cause: unknown) => {
        throw tooMany(cause)
      })
    )
  }
  const inTurn = async <T>(project: string, read: () => Promise<T>): Promise<T> => {
    const end = await begin(project)
    try {
      return await read()
    } finally {
      end()
    }
  }
  return {
    ...directory,
    read: (name) => inTurn(name.project, () => directory.read(name)),
    readKept: (name) => inTurn(name.project, () => directory.readKept(name)),
    homesOf: async function* (query) {
      const end = await begin(query.project)
      try {
        yield* directory.homesOf(query)
      } finally {
        end()
      }
    },
  }
}

function tooMany(cause: unknown): ServiceError {
  const detail = 'Too many requests for names that were just made, or that nobody has, are not answered yet.'
  return new ServiceError('rate_limited', detail, { headers: { 'Retry-After': '1' }, cause })
}

/** Reads at once, of one project half of them: each takes some milliseconds. */
const AT_ONCE = 16
const WAITING_MAX = 2_048
const WAIT_MS = 5_000
