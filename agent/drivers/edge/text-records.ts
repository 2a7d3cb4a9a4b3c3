import { Resolver } from 'node:dns/promises'
import { ServiceError } from '../../../shared/errors.ts'
import type { TextRecords } from '../../ports/edge/text-records.ts'

/** Queries the resolvers of the host, or the given addresses, with or without a port. */
export function createTextRecords(resolvers: readonly string[]): TextRecords {
  return {
    of: async (name) => {
      // A new one for each query, which reads the host's current resolvers.
      const resolver = new Resolver({ timeout: TIMEOUT_MS, tries: TRIES })
      if (resolvers.length > 0) resolver.setServers(resolvers)
      try {
        return (await resolver.resolveTxt(name)).map((pieces) => pieces.join(''))
      } catch (error) {
        if (isAbsence(error)) return []
        throw new ServiceError(
          'runtime_unavailable',
          `No resolver answers for the TXT record of ${name}. Retry later.`,
          {
            cause: error,
          },
        )
      }
    },
  }
}

function isAbsence(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && ABSENT.has(error.code)
}

const ABSENT: ReadonlySet<unknown> = new Set(['ENODATA', 'ENOTFOUND'])
const TIMEOUT_MS = 2_000
const TRIES = 2
