import { createRecentProjects, type RecentProjects } from '../../shared/project-turns.ts'
import type { LaterPart } from '../ports/store/events.ts'
import { STRANGERS } from './audit.ts'

/**
 * Orders requests by the event loop time that their accounts have used. So a client that repeats expensive requests leaves most of the
 * loop to the others.
 */
export interface ProcessorTurns {
  /**
   * Runs `work` at once if `account` has paid for its use, else in its turn. One request begins in a turn of the loop, with accounts in
   * rotation and the requests of each in order. While others are active, an account that has used more than some milliseconds pauses for
   * three times its use, at most 5 s. It pays for the time until `work` first waits or ends, and for its later parts. Work that resumes
   * after a wait may take another turn within its own.
   */
  run<T>(account: string, work: (later: LaterPart) => Promise<T>): Promise<T>
}

export interface ProcessorTurnsOptions {
  /** Default: accounts that have asked within `PRESENT_MS`. */
  recent?: RecentProjects
  /** Milliseconds of a clock that never goes back. Default: the clock of the process. */
  now?(): number
}

interface Account {
  name: string
  /** When it has paid for its use, pauses included. */
  paidAt: number
  waiting: Set<() => void>
}

/** Creates the turns of one event loop. */
export function createProcessorTurns(options: ProcessorTurnsOptions = {}): ProcessorTurns {
  const { recent = createRecentProjects(PRESENT_MS), now = () => performance.now() } = options
  // Starts with accounts that were served longest ago.
  const accounts = new Map<string, Account>()
  const timer = createNextTurn(() => serve())
  const charges = createCharges((name, ms) => {
    // An account that was the only one held up no other, so it owes nothing for that use later.
    const pause = recent.others(name) > 0 ? PAUSE : 0
    const account = accountOf(name)
    account.paidAt = Math.min(now() + DEBT_MS, Math.max(account.paidAt, now() - ms) + ms * (1 + pause))
  }, now)

  const pauseOf = ({ name, paidAt }: Account): number =>
    recent.others(name) > 0 ? Math.max(0, paidAt - now() - BURST_MS) : 0
  const isFree = ({ paidAt, waiting }: Account): boolean => paidAt <= now() && waiting.size === 0
  // Begins one request, so that the time until it waits is its own.
  const serve = (): void => {
    let pauseMs = Number.POSITIVE_INFINITY
    for (const [name, account] of [...accounts]) {
      if (isFree(account)) accounts.delete(name)
      const [begin] = account.waiting
      if (begin === undefined) continue
      const ms = pauseOf(account)
      pauseMs = Math.min(pauseMs, ms)
      if (ms > 0) continue
      account.waiting.delete(begin)
      accounts.delete(name)
      accounts.set(name, account)
      begin()
      break
    }
    if (pauseMs < Number.POSITIVE_INFINITY) timer.wakeIn(Math.min(pauseMs, PRESENT_MS))
  }
  const accountOf = (name: string): Account => {
    const account = accounts.get(name) ?? { name, paidAt: 0, waiting: new Set() }
    accounts.set(name, account)
    if (accounts.size > ACCOUNTS_MAX)
      for (const each of accounts.values()) if (each !== account && isFree(each)) accounts.delete(each.name)
    return account
  }
  return {
    run: async (name, work) => {
      // Unauthenticated requests never pause others.
      if (name !== STRANGERS) recent.note(name)
      const account = accountOf(name)
      if (!isFree(account) || charges.isBeginning(name)) {
        const { promise, resolve } = Promise.withResolvers<void>()
        account.waiting.add(resolve)
        timer.wakeIn(0)
        await promise
      }
      return charges.begin(name, work)
    },
  }
}

interface Charges {
  /** Runs the work of an account, and charges it for what it does without waiting. */
  begin<T>(account: string, work: (later: LaterPart) => Promise<T>): Promise<T>
  /** True until the request that has begun waits. */
  isBeginning(account: string): boolean
}

function createCharges(charge: (account: string, ms: number) => void, now: () => number): Charges {
  let begun: { account: string; at: number } | null = null
  const endBegun = (): void => {
    if (begun !== null) charge(begun.account, now() - begun.at)
    begun = null
  }
  return {
    isBeginning: (account) => begun?.account === account,
    begin: (account, work) => {
      // Runs once all work that does not wait is done.
      if (begun === null) process.nextTick(endBegun)
      endBegun()
      begun = { account, at: now() }
      return work((part) => {
        // The account is charged for it already.
        if (begun?.account === account) return part()
        const at = now()
        try {
          return part()
        } finally {
          charge(account, now() - at)
        }
      })
    },
  }
}

/** Calls back in the next turn of the loop, or after a pause, whichever is earliest. */
function createNextTurn(onTurn: () => void): { wakeIn(ms: number): void } {
  let isDue = false
  let timeout: NodeJS.Timeout | undefined
  const turn = (): void => {
    isDue = false
    onTurn()
  }
  return {
    wakeIn: (ms) => {
      if (isDue) return
      clearTimeout(timeout)
      if (ms > 0) timeout = setTimeout(turn, ms)
      else setImmediate(turn)
      isDue = ms === 0
    },
  }
}

/** How long an account counts as active after a request. Accounts that ask now and then leave the others the whole loop in between. */
const PRESENT_MS = 250
/** Above this, accounts that owe nothing are forgotten. */
const ACCOUNTS_MAX = 1_000
/** Milliseconds that an account may owe before it pauses. */
const BURST_MS = 20
/** Most that an account can owe. */
const DEBT_MS = 5_000
/** Length of a pause, in lengths of the use. With 3, an account has a quarter of the loop while others are active. */
const PAUSE = 3
