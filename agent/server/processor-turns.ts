import { createRecentProjects, type RecentProjects } from '../../shared/project-turns.ts'
import type { LaterPart } from '../ports/store/events.ts'
import { STRANGERS } from './audit.ts'

/**
 * Has requests begin by what their accounts have cost the event loop, so that who asks again and again for what is dear leaves the
 * most of it to the others.
 */
export interface ProcessorTurns {
  /**
   * Runs `work` at once if `account` has paid for what it used, else in its turn: one begins in a turn of the loop, accounts in rotation
   * and the requests of each in their order. While others are there, an account that has used more than some milliseconds pauses
   * for three times what it has used, 5 s at most. It is charged for the time until `work` waits for something, or ends, and for the later parts of it.
   * Work that goes on after it has waited may take another turn within its own.
   */
  run<T>(account: string, work: (later: LaterPart) => Promise<T>): Promise<T>
}

export interface ProcessorTurnsOptions {
  /** Default: knows who has asked within `PRESENT_MS`. */
  recent?: RecentProjects
  /** Milliseconds of a clock that never goes back; default: that of the process. */
  now?(): number
}

interface Account {
  name: string
  /** When it has paid for what it used, pauses included. */
  paidAt: number
  waiting: Set<() => void>
}

/** Creates the turns of one event loop. */
export function createProcessorTurns(options: ProcessorTurnsOptions = {}): ProcessorTurns {
  const { recent = createRecentProjects(PRESENT_MS), now = () => performance.now() } = options
  // Those first that were served longest ago.
  const accounts = new Map<string, Account>()
  const timer = createNextTurn(() => serve())
  const charges = createCharges((name, ms) => {
    // What was used while nobody else was there held up nobody, and is not owed to who comes later.
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
      // For the sake of those without a token nobody pauses.
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
      // Runs once all has been done that can be done without waiting.
      if (begun === null) process.nextTick(endBegun)
      endBegun()
      begun = { account, at: now() }
      return work((part) => {
        // Is charged for already.
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

/** Calls back in the next turn of the loop, or after a pause: the earliest that was asked for. */
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

/** How long an account is there for the others after it has asked: those who ask now and then leave them the whole loop in between. */
const PRESENT_MS = 250
/** Above that those are forgotten which owe nothing. */
const ACCOUNTS_MAX = 1_000
/** Milliseconds that an account may owe before it pauses. */
const BURST_MS = 20
/** The most that an account owes. */
const DEBT_MS = 5_000
/** Length of a pause in lengths of what was used: with 3, an account has a quarter of the loop while others are there. */
const PAUSE = 3
