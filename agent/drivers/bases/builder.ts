import { ServiceError } from '../../../shared/errors.ts'
import { FREE_POOL, refusal } from '../../../shared/refusals.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { BaseBuilder } from '../../ports/bases/builder.ts'
import { buildBusyboxBase } from './busybox.ts'
import { buildDebianBase } from './debian.ts'

/** Builds bases with the tools of this host: `debian` with mmdebstrap, `busybox` from its static busybox. */
export function createHostBaseBuilder(): BaseBuilder {
  return {
    names: ['debian', 'busybox'],
    build: async (name, path, { progress, signal }) => {
      signal.throwIfAborted()
      try {
        if (name === 'debian') await buildDebianBase(path, { progress, signal })
        else if (name === 'busybox') await buildBusyboxBase(path, progress)
        else throw new ServiceError('base_not_found', 'This host has no such base.')
      } catch (error) {
        if (error instanceof ServiceError || signal.aborted) throw error
        if (isErrno(error, 'ENOSPC', 'EDQUOT'))
          throw refusal('storage_full', [`The disk of this host has no room to build the base ${name}.`, FREE_POOL], {
            cause: error,
          })
        throw new ServiceError('internal', `The build of the base ${name} failed. Find the cause in the agent's log.`, {
          cause: error,
        })
      }
    },
  }
}
