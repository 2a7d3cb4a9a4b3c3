import { asServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { FleetRevocation, FleetTokens } from '../../ports/fleet/tokens.ts'
import type { Store } from '../../ports/store/store.ts'
import type { TokenRecord } from '../../ports/store/tokens.ts'
import type { TokenLedger } from './token-ledger.ts'

type TokensOf = Pick<Store, 'tokens'>

interface RepairParts {
  store: TokensOf
  fleet: FleetTokens
  ledger: TokenLedger
  logger: Logger
}

/**
 * Publishes tokens that the fleet lacks. These are tokens from before this cell joined, and tokens that an etcd lost when it was restored.
 * Includes tokens of other cells only with `isWhole`, since those cells publish their own.
 * @throws ServiceError `runtime_unavailable`
 */
export async function publishLacking(
  parts: RepairParts,
  { isWhole, now }: { isWhole: boolean; now: number },
): Promise<void> {
  const { store, fleet, logger } = parts
  for await (const record of eachUnexpired(store, now)) {
    if (!isWhole && (record.cell ?? fleet.cell) !== fleet.cell) continue
    try {
      await publishIfLacking(parts, record)
    } catch (error) {
      if (asServiceError(error).code === 'runtime_unavailable') throw error
      logger.error('failed to write a token record to the fleet', { token: record.id, error })
    }
  }
}

async function publishIfLacking({ store, fleet, ledger }: RepairParts, record: TokenRecord): Promise<void> {
  const { id, revokedAt, createdBy, cell = fleet.cell } = record
  if (revokedAt === null || record.signedOutAt !== undefined) {
    // `change` publishes a missing record, and the sign-out of a known one.
    const tell = record.signedOutAt === undefined ? fleet.publish : fleet.change
    if (!ledger.tokens.has(record)) await tell({ ...record, ...(cell === null ? {} : { cell }) })
    return
  }
  if (ledger.revocationOf(record) !== null) return
  const parent = createdBy === null ? null : await store.tokens.get(createdBy)
  // Otherwise the revocation of its creator covers it.
  if ((parent?.revokedAt ?? null) === null) await fleet.revoke(await revocationBy(store, { id, revokedAt, cell }))
}

/** Makes the revocation of a token. It is needed until the last token that it revokes expires. */
export async function revocationBy(
  { tokens }: TokensOf,
  { id: token, revokedAt, cell }: { id: string; revokedAt: number; cell: string | null },
): Promise<FleetRevocation> {
  const until = await tokens.lastExpiry(token)
  return { token, revokedAt, until: until === null ? null : Math.max(until, revokedAt), cell }
}

/** Yields the records of tokens that do not expire by `now`, revoked ones too, oldest first. */
export async function* eachUnexpired({ tokens }: TokensOf, now: number): AsyncGenerator<TokenRecord> {
  for (let after: string | null = null; ; ) {
    const { records, hasMore } = await tokens.list({ createdBy: null, after, limit: PAGE, unexpiredAt: now })
    yield* records
    after = records.at(-1)?.id ?? null
    if (!hasMore) return
  }
}

const PAGE = 1_000
