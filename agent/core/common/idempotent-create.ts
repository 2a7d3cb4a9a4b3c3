import type { Caller } from './caller.ts'

interface Created {
  createdBy: { token: string; idempotencyKey: string | null }
}

/**
 * What the same create made, sent again after an answer that a crash of ours swallowed; null if there is no such. `find`
 * looks for the name, and is asked only where there is a key.
 */
export async function findByIdempotencyKey<T extends Created>(
  find: () => Promise<T | null>,
  caller: Caller,
  idempotencyKey: string | null,
): Promise<T | null> {
  if (idempotencyKey === null) return null
  const record = await find()
  const isOwn = record?.createdBy.token === caller.tokenId && record.createdBy.idempotencyKey === idempotencyKey
  return isOwn ? record : null
}
