import type { ServiceError } from '../../../shared/errors.ts'
import { createFairTurns, type FairTurns } from '../../../shared/fair-turns.ts'
import { refusal } from '../../../shared/refusals.ts'
import { projectOwner } from '../../../shared/rotation.ts'
import type { RateLimit } from '../../core/access/rate-limit.ts'
import type { Directory, HomeName } from '../../ports/fleet/directory.ts'

export interface DirectoryReadsOptions {
  /** Counts each read of a project, because reads come before the rate limit of the requests that cause them. */
  rateLimit: RateLimit
  turns?: FairTurns
}

/** A directory whose reads come by turns. */
export interface TurnedDirectory extends Directory {
  /** Reads on behalf of `account`. Default: of the project. */
  read(name: HomeName, account?: string): ReturnType<Directory['read']>
}

/**
 * Returns a directory that reads what memory does not know, by turns of projects and at a limited rate for each. Otherwise requests for
 * names that do not exist would keep the cluster busy, which all cells need.
 * @throws ServiceError `rate_limited` of its reads, for a project that has asked for too many, or waits too long
 */
export function readByTurns(
  directory: Directory,
  { rateLimit, turns = createFairTurns(AT_ONCE, WAITING_MAX) }: DirectoryReadsOptions,
): TurnedDirectory {
  const begin = async (owner: string): Promise<() => void> => {
    rateLimit(`reads of ${owner}`)
    return (
      turns.take(owner) ??
      turns.wait(owner, AbortSignal.timeout(WAIT_MS)).catch((cause: unknown) => {
        throw tooMany(cause)
      })
    )
  }
  const inTurn = async <T>(owner: string, read: () => Promise<T>): Promise<T> => {
    const end = await begin(owner)
    try {
      return await read()
    } finally {
      end()
    }
  }
  return {
    ...directory,
    read: (name, account = ownerOf(name.project)) => inTurn(account, () => directory.read(name)),
    readKept: (name) => inTurn(ownerOf(name.project), () => directory.readKept(name)),
    homesOf: async function* (query) {
      const end = await begin(query.project === null ? 'all projects' : ownerOf(query.project))
      try {
        yield* directory.homesOf(query)
      } finally {
        end()
      }
    },
  }
}

function ownerOf(project: string): string {
  return projectOwner(project).project
}

function tooMany(cause: unknown): ServiceError {
  const why = 'Too many requests for names that were just made, or that do not exist, are not answered yet.'
  return refusal('rate_limited', [why, 'Try again in 1 s.'], { headers: { 'Retry-After': '1' }, cause })
}

/** Most reads at once, half of them for one project. Each takes some milliseconds. */
const AT_ONCE = 16
const WAITING_MAX = 2_048
const WAIT_MS = 5_000
