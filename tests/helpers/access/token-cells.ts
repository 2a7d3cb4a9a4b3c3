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

/** Cells with real databases over an in-memory fleet. A test can hold back what the fleet sends to a cell. */
export interface TokenLab {
  table: TokenTable
  /** Milliseconds since the epoch. */
  now: number
  /** Opens a cell with the data directory `name`. Reuse a name to simulate a restart of that cell. */
  open(name: string, options?: { isFollowing?: boolean }): Promise<TokenCell>
  /** Simulates the crash of a cell. The fleet sends it nothing more. */
  kill(cell: TokenCell): void
  close(): Promise<void>
}

/** The parts of a cell that handle tokens. */
export interface TokenCell {
  store: Store
  fleet: TableTokens
  records: TokenRecords
  tokens: Tokens
  /** Number of times that the edge was asked to look for ended grants. */
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

/** Creates a token at a cell, as the host's command does, and returns its id. */
export async function issueAt(
  { tokens }: TokenCell,
  createdBy: string | null = null,
  expiresAt: number | null = null,
): Promise<string> {
  const request = { name: 'ci', projects: ['demo'], permissions: ['read'], expiresAt, createdBy } as const
  return (await tokens.issue(request)).record.id
}

/** Returns how a cell answers a request with this token: `alive`, or the error code. */
export async function outcomeAt({ tokens }: TokenCell, id: string): Promise<string> {
  try {
    await tokens.checkAlive(id)
    return 'alive'
  } catch (error) {
    return String((error as { code?: unknown }).code)
  }
}

/** Waits until the cells have applied everything that the fleet sent. Ten turns of the event loop are enough. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Returns the events of a cell, each as its type and token id. */
export async function eventsOf({ store }: TokenCell): Promise<string[]> {
  const scope = { projects: '*' as const, shared: true, admin: true }
  const { events } = await store.events.read({ scope, types: [], after: 0, limit: 100 })
  return events.map(({ record }) => `${record.type} ${String(record.data['id'])}`)
}

/** Returns the token ids that a cell lists to an operator. */
export async function listedAt({ tokens }: TokenCell): Promise<string[]> {
  const caller = { ...CALLER, projects: '*' as const, permissions: ['admin' as const] }
  return (await tokens.list(caller, { max_results: 100 })).records.map(({ id }) => id)
}

/** Returns a token record of the cell `aa`. */
export function fleetToken(id: string, changes: Partial<FleetToken> = {}): FleetToken {
  return {
    ...{ id, keyId: 'k', name: 'ci', projects: ['demo'], permissions: ['read'], expiresAt: null },
    ...{ createdAt: 1, createdBy: null, root: id, cell: 'aa' },
    ...changes,
  }
}
