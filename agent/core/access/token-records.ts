import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { FleetRevocation, FleetToken, FleetTokens, FleetView } from '../../ports/fleet/tokens.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Store } from '../../ports/store/store.ts'
import type { TokenRecord, TokenRoom } from '../../ports/store/tokens.ts'
import { createTokenLedger, type TokenLedger } from './token-ledger.ts'
import { publishLacking, revocationBy } from './token-repair.ts'

export interface TokenRecordsDeps {
  store: Pick<Store, 'tokens'>
  fleet: FleetTokens
  clock: Pick<Clock, 'now'>
  logger: Logger
}

/**
 * The records of tokens. A cell keeps a copy of the records of all cells of its fleet, so every lookup is a local read. It publishes a
 * change to the fleet first, and then writes it. Methods reject with `runtime_unavailable` if the fleet cannot be reached.
 */
export interface TokenRecords {
  /** Number of this cell. Null without a fleet. */
  readonly cell: string | null
  /** Stores the record of a new token. Returns false if its quota is used up. */
  insert(record: TokenRecord, room?: TokenRoom): Promise<boolean>
  /** Finds a record here, else in the fleet. Null if no cell created such a token, or if it ended long ago. */
  find(id: string): Promise<TokenRecord | null>
  /** Returns true if the fleet published a revocation of the token, even if the record is gone. */
  isRevoked(id: string): boolean
  /** Changes expiry and key of a token that is not revoked. */
  change(record: TokenRecord, to: { expiresAt?: number; keyId?: string | null }): Promise<void>
  /** Revokes a token, and all tokens that it or its session created. */
  revoke(id: string): Promise<void>
  /** Revokes a session, but no token that it created. */
  signOut(record: TokenRecord): Promise<void>
  /** Calls `listener` after each revocation, here or elsewhere, and waits for them before `revoke` resolves. */
  onRevoke(listener: () => Promise<void>): void
  /**
   * Starts to follow the fleet. Resolves once all changes published so far are applied, or once the fleet cannot be reached. After that,
   * publishes tokens of this cell that the fleet lacks.
   */
  follow(): Promise<void>
  /** Publishes tokens that the fleet lacks, and removes records there that ended before `endedBefore` (ms since the epoch). */
  tend(options: { endedBefore: number }): Promise<void>
}

/** Creates the records of a cell over its store. `follow` brings them up to date. */
export function createTokenRecords(deps: TokenRecordsDeps): TokenRecords {
  const records = new Records(deps)
  return {
    cell: deps.fleet.cell,
    insert: (record, room) => records.insert(record, room),
    find: (id) => records.find(id),
    isRevoked: (id) => records.isRevoked(id),
    change: (record, to) => records.change(record, to),
    revoke: (id) => records.revoke(id),
    signOut: (record) => records.signOut(record),
    onRevoke: (listener) => records.onRevoke(listener),
    follow: () => records.follow(),
    tend: (options) => records.tend(options),
  }
}

class Records {
  readonly #store: TokenRecordsDeps['store']
  readonly #fleet: FleetTokens
  readonly #clock: TokenRecordsDeps['clock']
  readonly #logger: Logger
  readonly #ledger: TokenLedger
  /** Ids that a request of this cell is creating or revoking. The request writes them, so that their events name its caller. */
  readonly #ownWork = new Set<string>()
  /** Reads of ids without a record here, by id. */
  readonly #reads = new Map<string, Promise<TokenRecord | null>>()
  /** Ids without a token in the fleet, with the time (ms since the epoch) until which the fleet is not asked again. */
  readonly #absent = new Map<string, number>()
  readonly #listeners: (() => Promise<void>)[] = []
  /** End of the chain that applies changes of the fleet in their order. */
  #applied: Promise<void> = Promise.resolve()

  constructor({ store, fleet, clock, logger }: TokenRecordsDeps) {
    this.#store = store
    this.#fleet = fleet
    this.#clock = clock
    this.#logger = logger
    this.#ledger = createTokenLedger(fleet)
  }

  onRevoke(listener: () => Promise<void>): void {
    this.#listeners.push(listener)
  }

  readonly #onRevoke = (): Promise<unknown> => Promise.all(this.#listeners.map((listener) => listener()))

  async insert(record: TokenRecord, room: TokenRoom | undefined): Promise<boolean> {
    const { tokens } = this.#store
    if (room !== undefined && !(await tokens.hasRoom(room))) return false
    return this.#asOwnWork(record.id, async () => {
      await this.#fleet.publish(record)
      if (!(await tokens.insert(record, room))) {
        // Others used up the quota first. No client has the token, but the other cells know it already.
        const { id: token, expiresAt: until } = record
        await this.#fleet.revoke({ token, until, revokedAt: this.#clock.now(), cell: this.#fleet.cell })
        return false
      }
      await this.#settle(record)
      return true
    })
  }

  async find(id: string): Promise<TokenRecord | null> {
    const record = await this.#store.tokens.get(id)
    if (record !== null || this.#fleet.cell === null) return record
    if (this.isRevoked(id)) return null
    if ((this.#absent.get(id) ?? 0) > this.#clock.now()) return null
    const pending = this.#reads.get(id)
    if (pending !== undefined) return pending
    // The fleet published each id once, so only old tokens come here. A flood of them must not delay other requests.
    if (this.#reads.size >= READS_MAX)
      throw new ServiceError('runtime_unavailable', 'The fleet is looking up too many tokens now. Retry later.')
    const reading = this.#read(id).finally(() => this.#reads.delete(id))
    this.#reads.set(id, reading)
    return reading
  }

  isRevoked(id: string): boolean {
    return this.#ledger.revocationOf({ id, createdBy: null, root: id }) !== null
  }

  async change(record: TokenRecord, to: { expiresAt?: number; keyId?: string | null }): Promise<void> {
    const { id } = record
    await this.#fleet.change({ ...record, ...to })
    if (to.expiresAt !== undefined) await this.#store.tokens.setEnd(id, to.expiresAt)
    if (to.keyId !== undefined) await this.#store.tokens.setKey(id, to.keyId)
  }

  async revoke(id: string): Promise<void> {
    const revokedAt = this.#clock.now()
    const told = this.#asOwnWork(id, async () => {
      await this.#fleet.revoke(await revocationBy(this.#store, { id, revokedAt, cell: this.#fleet.cell }))
      await this.#store.tokens.revoke(id, revokedAt)
    })
    // The fleet may have it although the response was lost.
    await told.catch(async (error: unknown) => {
      await this.#catchUp(id)
      throw error
    })
    await this.#onRevoke()
  }

  async signOut(record: TokenRecord): Promise<void> {
    const signedOutAt = Math.max(this.#clock.now(), record.createdAt)
    const told = this.#asOwnWork(record.id, async () => {
      await this.#fleet.change({ ...record, signedOutAt })
      await this.#store.tokens.signOut(record.id, signedOutAt, { isTold: true })
    })
    // The fleet may have it although the response was lost.
    await told.catch(async (error: unknown) => {
      const found = await this.#fleet.read(record.id).catch(() => null)
      if (found !== null) await this.#take([found.token])
      throw error
    })
    await this.#onRevoke()
  }

  async follow(): Promise<void> {
    const inOrder =
      <T>(apply: (item: T) => Promise<unknown>) =>
      (item: T): void =>
        void this.#inOrder(() => apply(item)).catch((error: unknown) => this.#logger.error(NOT_STORED, { error }))
    const tokens: FleetView<FleetToken> = {
      replaceAll: (pages) => this.#replaceAll(() => this.#ledger.tokens.replaceAll(pages, (page) => this.#take(page))),
      put: inOrder((token: FleetToken) => {
        this.#ledger.tokens.put(token)
        return this.#take([token])
      }),
      drop: inOrder(async (id: string) => this.#ledger.tokens.drop(id)),
    }
    const revocations: FleetView<FleetRevocation> = {
      replaceAll: (pages) =>
        this.#replaceAll(() => this.#ledger.revocations.replaceAll(pages, (page) => this.#apply(page))),
      put: inOrder((revocation: FleetRevocation) => {
        this.#ledger.revocations.put(revocation)
        return this.#apply([revocation])
      }),
      drop: inOrder(async (token: string) => this.#ledger.revocations.drop(token)),
    }
    await this.#fleet.follow({ tokens, revocations })
    await this.#applied
  }

  async tend({ endedBefore }: { endedBefore: number }): Promise<void> {
    await this.#publishLacking({ isWhole: true })
    // Removes records of other cells a day later, in case those cells are gone.
    const { tokens, revocations } = this.#ledger.ended({ own: endedBefore, others: endedBefore - DAY_MS })
    for (const { id, isRevoked } of tokens)
      await this.#fleet.removeToken(id, { expiredBefore: isRevoked ? null : endedBefore })
    for (const token of revocations) await this.#fleet.removeRevocation(token)
  }

  async #asOwnWork<T>(id: string, work: () => Promise<T>): Promise<T> {
    this.#ownWork.add(id)
    try {
      return await work()
    } finally {
      this.#ownWork.delete(id)
    }
  }

  /** Applies a revocation that the fleet published while this cell was about to write it. */
  async #catchUp(token: string): Promise<void> {
    const known = this.#ledger.revocationOf({ id: token, createdBy: null, root: token })
    if (known !== null) await this.#apply([{ ...known, token }])
  }

  #inOrder(work: () => Promise<unknown>): Promise<void> {
    const done = this.#applied.then(async () => void (await work()))
    this.#applied = done.catch(() => undefined)
    return done
  }

  async #replaceAll(work: () => Promise<void>): Promise<void> {
    await this.#inOrder(work)
    this.#publishLacking({ isWhole: false }).catch((error: unknown) =>
      this.#logger.warn('failed to publish all tokens of this cell to the fleet', { error }),
    )
  }

  async #publishLacking(options: { isWhole: boolean }): Promise<void> {
    if (!this.#ledger.isComplete()) return
    const parts = { store: this.#store, fleet: this.#fleet, ledger: this.#ledger, logger: this.#logger }
    await publishLacking(parts, { ...options, now: this.#clock.now() })
  }

  /** Reads a token that has no record here, and keeps it. */
  async #read(id: string): Promise<TokenRecord | null> {
    const found = await this.#fleet.read(id)
    if (found === null) {
      if (this.#absent.size >= ABSENT_MAX) this.#absent.clear()
      this.#absent.set(id, this.#clock.now() + ABSENT_MS)
      return this.#store.tokens.get(id)
    }
    const { token, revocation } = found
    try {
      await this.#take([token])
      if (revocation !== null) await this.#apply([revocation])
    } catch (error) {
      // On a full disk the token is not stored, but it is valid all the same.
      this.#logger.error(NOT_STORED, { error })
    }
    const revokedAt = (revocation ?? this.#ledger.revocationOf(token))?.revokedAt ?? token.signedOutAt ?? null
    return (await this.#store.tokens.get(id)) ?? { ...token, revokedAt }
  }

  /** Stores tokens of the fleet, except those that a request of this cell is creating, since that request writes them. */
  async #take(page: readonly FleetToken[]): Promise<void> {
    const now = this.#clock.now()
    const isLive = (token: FleetToken): boolean =>
      (token.expiresAt === null || token.expiresAt > now) &&
      token.signedOutAt === undefined &&
      this.#ledger.revocationOf(token) === null
    const taken = page.filter(({ id }) => !this.#ownWork.has(id))
    // A live token of this cell without a record was published right before the cell was killed. Ended ones may be long forgotten.
    const isNews = (token: FleetToken): boolean => token.cell === this.#fleet.cell && isLive(token)
    const [news, others] = [taken.filter(isNews), taken.filter((token) => !isNews(token))]
    if (others.length > 0) await this.#store.tokens.mirror(others, { isTold: false })
    if (news.length > 0) await this.#store.tokens.mirror(news, { isTold: true })
    for (const token of taken) await this.#settle(token)
  }

  /** Revokes a record that was signed out elsewhere, or that a revoked token created. The two may come in any order. */
  async #settle(token: FleetToken): Promise<void> {
    if (this.#fleet.cell === null) return
    const { id, signedOutAt: at } = token
    // The cell that handled the sign-out publishes its event.
    if (at !== undefined && (await this.#store.tokens.signOut(id, at, { isTold: false })) > 0) await this.#onRevoke()
    const known = this.#ledger.revocationOf(token)
    const parent = token.createdBy === null ? null : await this.#store.tokens.get(token.createdBy)
    const revokedAt = known?.revokedAt ?? parent?.revokedAt ?? null
    if (revokedAt === null) return
    const isTold = known === null || known.cell === this.#fleet.cell
    if ((await this.#store.tokens.revoke(token.id, revokedAt, { isTold })) > 0) await this.#onRevoke()
  }

  async #apply(page: readonly FleetRevocation[]): Promise<void> {
    let count = 0
    for (const { token, revokedAt, cell } of page) {
      if (this.#ownWork.has(token)) continue
      count += await this.#store.tokens.revoke(token, revokedAt, { isTold: cell === this.#fleet.cell })
    }
    if (count > 0) await this.#onRevoke()
  }
}

const NOT_STORED = 'failed to store a token record from the fleet'
/** Most ids that are looked up in the fleet at once. */
const READS_MAX = 64
const ABSENT_MAX = 1_000
const ABSENT_MS = 10_000
const DAY_MS = 86_400_000
