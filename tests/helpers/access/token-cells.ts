import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTokenRecords, type TokenRecords } from '../../../agent/core/access/token-records.ts'
import { createTokens, type Tokens } from '../../../agent/core/access/tokens.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { FleetToken } from '../../../agent/ports/fleet/tokens.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { createTokenKeys } from '../../../shared/auth/keys.ts'
import { CALLER } from '../caller.ts'
import { createTableTokens, createTokenTable, type TableTokens, type TokenTable } from '../fleet/table-tokens.ts'
import { silentLogger } from '../silent-logger.ts'

/** Cells with real databases over a fleet in memory, which tells each cell when the test says so. */
export interface TokenLab {
  table: TokenTable
  /** Milliseconds since the epoch. */
  now: number
  /** Opens a cell with the data directory of its name, so that one of the same name is the next process of it. */
  open(name: string, options?: { isFollowing?: boolean }): Promise<TokenCell>
  /** Ends a cell without a word. */
  kill(cell: TokenCell): void
  close(): Promise<void>
}

/** A cell, as far as it has tokens. */
export interface TokenCell {
  store: Store
  fleet: TableTokens
  records: TokenRecords
  tokens: Tokens
  /** How often the edge was told to look for ended grants. */
  revocations: number
}

export function createTokenLab(): TokenLab {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-fleet-tokens-'))
  const opened: Store[] = []
  const keys = createTokenKeys()
  const lab: TokenLab = {
    table: createTokenTable(),
    now: Date.parse('2026-11-26T12:00:00Z'),
    open: async (name, { isFollowing = true } = {}) => {
      const store = openSqliteStore(join(directory, `${name}.db`))
      opened.push(store)
      const fleet = createTableTokens(lab.table, name)
      const clock = { now: () => lab.now }
      const records = createTokenRecords({ store, fleet, clock, logger: silentLogger })
      const tokens = createTokens({ store, records, clock, signingKeys: () => keys })
      const cell: TokenCell = { store, fleet, records, tokens, revocations: 0 }
      records.onRevoke(async () => {
        cell.revocations += 1
      })
      if (isFollowing) await records.follow()
      return cell
    },
    kill: ({ fleet }) => void lab.table.cells.splice(lab.table.cells.indexOf(fleet), 1),
    close: async () => {
      for (const store of opened) await store.close()
      rmSync(directory, { recursive: true, force: true })
    },
  }
  return lab
}

/** Mints a token at a cell, as a command of its host does, and returns its id. */
export async function issueAt(
  { tokens }: TokenCell,
  createdBy: string | null = null,
  expiresAt: number | null = null,
): Promise<string> {
  const request = { name: 'ci', projects: ['demo'], permissions: ['read'], expiresAt, createdBy } as const
  return (await tokens.issue(request)).record.id
}

/** Returns what a cell says to the bearer of a token: `alive`, or the code of a refusal. */
export async function outcomeAt({ tokens }: TokenCell, id: string): Promise<string> {
  try {
    await tokens.checkAlive(id)
    return 'alive'
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
}

/** Waits until the cells have applied what they were told: nothing of it takes longer than some turns. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Returns the events of a cell: type and id of the token. */
export async function eventsOf({ store }: TokenCell): Promise<string[]> {
  const scope = { projects: '*' as const, shared: true, admin: true }
  const { events } = await store.events.read({ scope, types: [], after: 0, limit: 100 })
  return events.map(({ record }) => `${record.type} ${String(record.data['id'])}`)
}

/** Returns the ids that a cell lists to an operator. */
export async function listedAt({ tokens }: TokenCell): Promise<string[]> {
  const caller = { ...CALLER, projects: '*' as const, permissions: ['admin' as const] }
  return (await tokens.list(caller, { max_results: 100 })).records.map(({ id }) => id)
}

/** Returns the record of a token of the cell `aa`. */
export function fleetToken(id: string, changes: Partial<FleetToken> = {}): FleetToken {
  return {
    ...{ id, keyId: 'k', name: 'ci', projects: ['demo'], permissions: ['read'], expiresAt: null },
    ...{ createdAt: 1, createdBy: null, root: id, cell: 'aa' },
    ...changes,
  }
}
