import { setImmediate as soon } from 'node:timers/promises'
import type { FleetRevocation, FleetToken, FleetTokens, FleetView } from '../../../agent/ports/fleet/tokens.ts'
import { ServiceError } from '../../../shared/errors.ts'

/** The tokens and revocations of a fleet, in memory. A test can inspect them and make them fail. */
export interface TokenTable {
  tokens: Map<string, FleetToken>
  revocations: Map<string, FleetRevocation>
  /** Injects a fault. `away`: all reads and writes fail. `answers lost`: writes take effect, but every caller gets an error. */
  fault: 'away' | 'answers lost' | null
  /** Number of token reads. */
  reads: number
  readonly cells: TableTokens[]
}

/** One cell's connection to the table. */
export interface TableTokens extends FleetTokens {
  /** Holds back updates for this cell. `told` collects them. */
  hold(): void
  /** Updates to deliver, in the order of the changes. */
  told: (() => void)[]
  /** Delivers the held updates, and resumes delivery. */
  release(): void
  /** Sends both lists again, as after a lost connection. */
  relist(): Promise<void>
}

export function createTokenTable(): TokenTable {
  return { tokens: new Map(), revocations: new Map(), fault: null, reads: 0, cells: [] }
}

/** Creates a cell's tokens over a table that it shares with other cells. They must pass the suite for all token stores. */
export function createTableTokens(table: TokenTable, cell: string): TableTokens {
  const change = async <T>(work: () => T): Promise<T> => {
    await soon()
    if (table.fault === 'away') throw away()
    const done = work()
    if (table.fault === 'answers lost') throw away()
    return done
  }
  const tell = (what: (views: Views) => void): void => {
    for (const each of table.cells as TableCell[]) {
      const { views } = each
      if (views !== null) each.told.push(() => what(views))
      if (!each.isHeld) each.release()
    }
  }
  const put = (token: FleetToken): void => {
    const stored = storedOf(token)
    table.tokens.set(stored.id, stored)
    tell(({ tokens }) => tokens.put(stored))
  }
  const own: TableCell = {
    ...{ cell, views: null, isHeld: false, told: [] },
    publish: (token) => change(() => (table.tokens.has(token.id) ? undefined : put(token))),
    change: (token) => change(() => put(changedBy(token, table.tokens.get(token.id) ?? token))),
    revoke: (revocation) =>
      change(() => {
        if (table.revocations.has(revocation.token)) return
        table.revocations.set(revocation.token, revocation)
        tell(({ revocations }) => revocations.put(revocation))
      }),
    read: (id) =>
      change(() => {
        table.reads += 1
        const token = table.tokens.get(id)
        return token === undefined ? null : { token, revocation: table.revocations.get(id) ?? null }
      }),
    removeToken: (id, { expiredBefore }) =>
      change(() => {
        const expiresAt = table.tokens.get(id)?.expiresAt ?? Number.POSITIVE_INFINITY
        if (expiredBefore !== null && expiresAt >= expiredBefore) return
        if (table.tokens.delete(id)) tell(({ tokens }) => tokens.drop(id))
      }),
    removeRevocation: (id) =>
      change(() => {
        if (table.revocations.delete(id)) tell(({ revocations }) => revocations.drop(id))
      }),
    follow: async (views) => {
      own.views = views
      if (table.fault !== 'away') await own.relist()
    },
    hold: () => {
      own.isHeld = true
    },
    release: () => {
      own.isHeld = false
      for (const each of own.told.splice(0)) each()
    },
    relist: async () => {
      own.told.length = 0
      await own.views?.revocations.replaceAll(pagesOf([...table.revocations.values()]))
      await own.views?.tokens.replaceAll(pagesOf([...table.tokens.values()]))
    },
  }
  table.cells.push(own)
  return own
}

function changedBy({ expiresAt, keyId, signedOutAt }: FleetToken, known: FleetToken): FleetToken {
  return { ...known, expiresAt, keyId, ...(signedOutAt === undefined ? {} : { signedOutAt }) }
}

function storedOf(token: FleetToken): FleetToken {
  const { id, keyId, name, projects, permissions, expiresAt, createdAt, createdBy, root } = token
  const { cell: of, isSession, session, signedOutAt } = token
  return {
    ...{ id, keyId, name, projects, permissions, expiresAt, createdAt, createdBy, root },
    ...(of === undefined ? {} : { cell: of }),
    ...(isSession === undefined ? {} : { isSession }),
    ...(session === undefined ? {} : { session }),
    ...(signedOutAt === undefined ? {} : { signedOutAt }),
  }
}

interface Views {
  tokens: FleetView<FleetToken>
  revocations: FleetView<FleetRevocation>
}

interface TableCell extends TableTokens {
  views: Views | null
  isHeld: boolean
}

async function* pagesOf<T>(all: T[]): AsyncGenerator<T[]> {
  for (let from = 0; from < all.length; from += PAGE) yield all.slice(from, from + PAGE)
}

function away(): ServiceError {
  return new ServiceError('runtime_unavailable', 'The fleet is away.')
}

const PAGE = 2
