import { ServiceError } from '../../../shared/errors.ts'
import { createFairTurns, type FairTurns } from '../../../shared/fair-turns.ts'
import type { Directory } from '../../ports/fleet/directory.ts'

/**
 * Returns a directory that reads by turns of projects what memory does not know: whoever asks for names that nobody has would else
 * keep the cluster busy, which all cells need.
 * @throws ServiceError `rate_limited` of its reads, for a project that has asked for too many, or waits too long
 */
export function readByTurns(directory: Directory, turns: FairTurns = createFairTurns(AT_ONCE, WAITING_MAX)): Directory {
  const begin = async (project: string | null): Promise<() => void> => {
    const owner = project === null ? 'all projects' : `project ${project}`
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
