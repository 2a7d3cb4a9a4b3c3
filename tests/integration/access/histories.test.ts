import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createBoxActivity } from '../../../agent/core/boxes/activity.ts'
import type { LiveExec } from '../../../agent/core/exec/live-exec.ts'
import { createExecTable } from '../../../agent/core/exec/table.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { createFairShares } from '../../../shared/fair-shares.ts'
import { SHARES } from '../../../shared/schemas/shares.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import { type NamesWith, namesWith } from '../../helpers/shares.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { silentMeter } from '../../helpers/silent-meter.ts'

let directory: string
let store: Store

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-histories-'))
  store = openSqliteStore(join(directory, 'boxyard.db'))
})

afterAll(async () => {
  await store.close()
  rmSync(directory, { recursive: true, force: true })
})

interface History {
  /** Adds an entry of an account, under a number that no other entry has. */
  add(account: string, number: number): Promise<unknown>
  /** Cuts the history down to the space of ten entries. */
  bound(): Promise<void>
  isKept(account: string, number: number): Promise<boolean>
}

/** Histories that evict the oldest entries of the accounts with the most entries. `kind` is what the account's uses have in common. */
const HISTORIES: Record<NamesWith<'evict_oldest'>, (kind: 'box' | 'project' | 'token') => History> = {
  orphaned_commands: (kind) => {
    const shares = { running: createFairShares(100), activity: createBoxActivity() }
    const table = createExecTable({ lingering: 10, ...shares, meter: silentMeter, logger: silentLogger })
    const closed = new Set<string>()
    return {
      add: async (account, number) => {
        const others = { box: `${number}`, project: `${number}`, token: `${number}` }
        const owners = Object.entries({ ...others, [kind]: account }).map(([of, name]) => `${of} ${name}`)
        table.add(endedExec(`exe_${number}`, closed), owners)
        await new Promise(setImmediate)
      },
      bound: async () => undefined,
      isKept: async (_account, number) => !closed.has(`exe_${number}`),
    }
  },
  events: () => ({
    add: (project, number) => store.boxes.insert(boxRecord({ id: `box_${number}`, project, name: `b${number}` })),
    bound: () => store.events.prune(0, 10),
    isKept: async (project, number) => {
      const scope = { projects: [project], shared: false, admin: false }
      const { events } = await store.events.read({ scope, types: [], after: 0, limit: 100 })
      return events.some(({ record }) => record.data['id'] === `box_${number}`)
    },
  }),
  edge_grants: () => {
    const gone = new Set<string>()
    const bounds = { ofToken: 3, inAll: 10 }
    return {
      // Each token has created the next one, and has one session.
      add: async (root, number) => {
        const tokenId = `tok_session_${number}`
        const scope = { name: 'n', projects: ['demo'], permissions: ['read' as const], keyId: null, createdBy: null }
        await store.tokens.insert({ ...scope, root, id: tokenId, createdAt: 0, expiresAt: null, revokedAt: null })
        const at = { scope: 'web--demo.localhost', project: 'demo', createdAt: number, expiresAt: 1_000 }
        const credentials = (await store.edgeGrants.put({ ...at, credential: `c${number}`, tokenId }, bounds)) ?? []
        for (const each of credentials) gone.add(each)
        await store.edgeGrants.remove(credentials)
      },
      bound: async () => undefined,
      isKept: async (_root, number) => !gone.has(`c${number}`),
    }
  },
  audit_entries: () => ({
    add: (account, at) => {
      const of = {
        ...{ operation: null, method: 'POST', target: '/', project: null, actor: null, actorName: null },
        at,
      }
      const rest = { clientAddress: '', requestId: `req_${at}`, durationMs: 1, status: 201, code: null, account }
      return store.audit.add([{ ...of, ...rest }])
    },
    bound: () => store.audit.prune(0, 10),
    isKept: async (_account, number) => {
      const any = { projects: '*', project: null, actor: null, operation: null, status: null } as const
      const { records } = await store.audit.read({ ...any, before: null, limit: 100 })
      return records.some(({ record }) => record.at === number)
    },
  }),
  idempotency_answers: () => ({
    add: async (account, now) => {
      await store.idempotency.begin({ token: account, key: `${now}`, fingerprint: 'f', now, account })
      await store.idempotency.finish(account, `${now}`, { status: 201, headers: {}, body: 'x'.repeat(1_000) })
    },
    bound: () => store.idempotency.bound(10 * (512 + 1_050)),
    isKept: async (account, now) => {
      const entry = await store.idempotency.begin({ token: account, key: `${now}`, fingerprint: 'f', now, account })
      return entry !== null
    },
  }),
  operations: () => ({
    add: (project, number) => {
      const of = { kind: 'stop', boxId: 'box_a', project, name: 'web', generation: 1, outcome: null }
      return store.operations.insert({ ...of, id: `opr_${number}`, createdAt: number })
    },
    bound: () => store.operations.bound(10),
    isKept: async (_project, number) => (await store.operations.get(`opr_${number}`)) !== null,
  }),
  ended_tokens: () => ({
    add: (root, number) => {
      const scope = { name: 'n', projects: ['demo'], permissions: ['read' as const], keyId: null, createdBy: null }
      const record = { ...scope, root, id: `tok_${number}`, createdAt: 0, expiresAt: number, revokedAt: null }
      return store.tokens.insert(record)
    },
    bound: () => store.tokens.bound(10, 1_000),
    isKept: async (_root, number) => (await store.tokens.get(`tok_${number}`)) !== null,
  }),
}

// Returns a command that has exited. A process that it left behind keeps its streams open.
function endedExec(id: string, closed: Set<string>): LiveExec {
  const { promise: released, resolve } = Promise.withResolvers<void>()
  const release = (): void => {
    closed.add(id)
    resolve()
  }
  const ended = Promise.resolve({ status: 'exited', startedAt: 0, endedAt: 1 })
  return { id, boxId: 'box_a', ended, dispose: async () => undefined, released, release } as unknown as LiveExec
}

const byKind = namesWith('evict_oldest').flatMap((name) => SHARES[name].by.map((kind) => [name, kind] as const))

describe('who leaves most behind loses the oldest, and others keep theirs', () => {
  test.each(byKind)('%s, by one %s', async (name, kind) => {
    const { add, bound, isKept } = HISTORIES[name](kind)
    for (let number = 1; number <= 4; number++) await add('victim', number)
    for (let number = 5; number <= 34; number++) await add('attacker', number)
    await bound()
    const kept = async (account: string, numbers: number[]): Promise<number[]> => {
      const found = await Promise.all(numbers.map((number) => isKept(account, number)))
      return numbers.filter((_number, index) => found[index])
    }
    expect(await kept('victim', [1, 2, 3, 4])).toEqual([1, 2, 3, 4])
    expect(await kept('attacker', [5, 20, 28, 29, 30, 34])).toEqual([29, 30, 34])
  })
})
