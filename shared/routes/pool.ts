import { define } from '../operation.ts'
import { scrubSchema, storageSchema } from '../schemas/pool.ts'

/** What the storage of the host holds, and whether it is sound. */
export const spaceOperations = {
  getStorage: define({
    id: 'getStorage',
    method: 'GET',
    path: '/v1/storage',
    summary: 'What is used, by whom, and what deleting each would free',
    permission: 'admin',
    response: storageSchema,
  }),
  startScrub: define({
    id: 'startScrub',
    method: 'POST',
    path: '/v1/storage/scrub',
    summary: 'Read all that is stored against its checksums; health tells of what is wrong',
    permission: 'admin',
    response: scrubSchema,
    status: 202,
  }),
} as const
