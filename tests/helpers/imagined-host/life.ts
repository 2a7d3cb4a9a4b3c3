import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { setImmediate as turn } from 'node:timers/promises'
import type { DetachedExec } from '../../../agent/ports/boxes/runtime.ts'
import { createFakeTime, type FakeTime } from '../imagined-time.ts'
import { type Tap, tapCalls } from '../tapped-calls.ts'
import { type ImaginedAgent, type ImaginedHost, startImaginedAgent } from './agent.ts'

/** A fault at the `nth` call of that name. It kills the agent before or after the effect, or fails the call before or after the effect. */
export interface CallFault {
  call: string
  nth: number
  moment: 'before' | 'after' | 'throw' | 'reject'
}

/** A call that the core made. */
export interface RecordedCall {
  call: string
  nth: number
  /** True if it changed the host or the database. */
  hasEffect: boolean
  /** True if it began after the request's answer. */
  isLate: boolean
  /** True if it began while another call was in progress. */
  isWithin: boolean
}

/** The answer to a request. */
export interface OperationAnswer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: as tests read it
  body: any
}

/** An agent's life on an imagined host, from its start to its end. */
export class AgentLife {
  readonly time: FakeTime
  readonly host: ImaginedHost
  #agent: ImaginedAgent | null = null
  #fault: CallFault | null = null
  #isDead = false
  #wasKilled = false
  #inFlight = 0
  #begun = 0
  #counts = new Map<string, number>()
  #recording: Recording | null = null
  #answered = 0
  readonly #database: DatabaseSync
  readonly #look: StatementSync

  private constructor(host: ImaginedHost, now: number) {
    this.host = host
    this.time = createFakeTime(now)
    this.#database = new DatabaseSync(`${host.dataDir}/boxyard.db`)
    this.#look = this.#database.prepare('PRAGMA data_version')
  }

  /** Starts an agent at `now`, and runs it until it is idle. */
  static async begin(host: ImaginedHost, now: number): Promise<AgentLife> {
    const life = new AgentLife(host, now)
    const starting = startImaginedAgent(host, { clock: life.time.clock, tap: life.#tap })
    let failure: Error | null = null
    starting.then(
      (agent) => {
        life.#agent = agent
      },
      (error: unknown) => {
        failure = error as Error
      },
    )
    await life.run(() => life.#agent !== null || failure !== null, START_MS)
    if (life.#agent === null) throw failure ?? new Error('The agent did not start.')
    await life.rest()
    return life
  }

  get store(): ImaginedAgent['store'] {
    return this.#started.store
  }

  get isDead(): boolean {
    return this.#isDead
  }

  /** True if a fault has killed it. */
  get wasKilled(): boolean {
    return this.#wasKilled
  }

  get now(): number {
    return this.time.clock.now()
  }

  /** Sets a fault for a later call. Restarts the counts of calls. */
  arm(fault: CallFault | null): void {
    this.#fault = fault
    this.#counts = new Map()
    this.#answered = 0
  }

  /** Returns a text that changes with each effect on the host or the database. */
  mark(): string {
    return `${String(this.#look.get()?.['data_version'])} ${this.host.world.effects}`
  }

  /** Starts to record calls. The returned function stops that, and returns the calls. */
  record(): () => RecordedCall[] {
    this.arm(null)
    const recording = { last: this.mark(), calls: [] as RecordedCall[] }
    this.#recording = recording
    return () => {
      this.#recording = null
      return recording.calls
    }
  }

  /** Sends a request, and runs the agent until it answers. Null if the agent died before that. */
  async ask(
    method: string,
    target: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<OperationAnswer | null> {
    let answer: OperationAnswer | null = null
    // Gives later resources greater ids.
    this.time.advance(1)
    this.#started.send(method, target, body, headers).then(
      (response) => {
        this.#answered++
        const text =
          typeof response.body === 'string'
            ? response.body
            : Buffer.from((response.body as Uint8Array) ?? []).toString()
        answer = { status: response.status, body: text === '' ? null : JSON.parse(text) }
      },
      () => undefined,
    )
    await this.run(() => answer !== null, ANSWER_MS)
    if (answer === null && !this.#isDead) throw new Error(`${method} ${target} was never answered.`)
    return answer
  }

  /** Runs the agent and advances time, until `isDone`, its death, or the end of `mostMs`. Returns true if `isDone`. */
  async run(isDone: () => boolean | Promise<boolean>, mostMs: number): Promise<boolean> {
    for (const end = this.now + mostMs; ; ) {
      await this.rest()
      if (await isDone()) return true
      const next = this.time.untilNext()
      if (this.#isDead || next === null || this.now + next > end) return false
      this.time.advance(Math.max(0, next))
    }
  }

  /** Runs the agent until it only waits for time to pass. */
  async rest(): Promise<void> {
    for (let [quiet, turns] = [0, 0]; quiet < QUIET_TURNS && !this.#isDead; turns++) {
      const begun = this.#begun
      await turn()
      quiet = this.#inFlight === 0 && this.#begun === begun ? quiet + 1 : 0
      if (turns > TURNS_MAX) throw new Error('The agent does not come to rest.')
    }
  }

  /** Ends it as `kill -9` does, unless a fault has. The next agent can then open the database. */
  async end(): Promise<void> {
    this.#isDead = true
    await this.#agent?.drop()
    this.#database.close()
  }

  get #started(): ImaginedAgent {
    if (this.#agent === null) throw new Error('The agent has not started.')
    return this.#agent
  }

  readonly #tap: Tap = (call, make) => {
    if (SYNCHRONOUS.has(call)) return make()
    if (this.#isDead) return NEVER
    const nth = (this.#counts.get(call) ?? 0) + 1
    this.#counts.set(call, nth)
    const moment = this.#fault?.call === call && this.#fault.nth === nth ? this.#fault.moment : null
    if (moment === 'before') return this.#die()
    if (moment === 'throw') return failing(call)
    this.#begun++
    const recorded = { call, nth, hasEffect: false, isLate: this.#answered > 0, isWithin: this.#inFlight > 0 }
    const result = make()
    if (!isPromise(result)) {
      if (!isIterable(result)) SYNCHRONOUS.add(call)
      else this.#recording?.calls.push(recorded)
      return result
    }
    this.#recording?.calls.push(recorded)
    this.#note(recorded)
    this.#inFlight++
    return this.#settled(result, { recorded, moment })
  }

  async #settled(result: Promise<unknown>, { recorded, moment }: Called): Promise<unknown> {
    const [value] = await Promise.allSettled([result])
    this.#inFlight--
    if (this.#isDead) return NEVER
    this.#note(recorded)
    if (value.status === 'rejected') throw value.reason
    if (moment === 'after') return this.#die()
    if (moment === 'reject') return failing(recorded.call)
    return tapHandles(recorded.call, value.value, this.#tap)
  }

  #note(recorded: RecordedCall): void {
    if (this.#recording === null) return
    const now = this.mark()
    if (now === this.#recording.last) return
    this.#recording.last = now
    recorded.hasEffect = true
  }

  #die(): Promise<never> {
    this.#isDead = true
    this.#wasKilled = true
    return NEVER
  }
}

interface Recording {
  last: string
  calls: RecordedCall[]
}

interface Called {
  recorded: RecordedCall
  moment: CallFault['moment'] | null
}

// A detached command is a port of its own.
function tapHandles(call: string, value: unknown, tap: Tap): unknown {
  const tapped = (handle: DetachedExec): DetachedExec => tapCalls('runtime.detached', handle, tap)
  if (call === 'runtime.listDetached') return (value as DetachedExec[]).map(tapped)
  if (call !== 'runtime.execDetached') return value
  const started = value as { detached: DetachedExec }
  return { ...started, detached: tapped(started.detached) }
}

// Returns a rejected promise that is also a failing stream, because the type of the call's real result is unknown.
function failing(call: string): Promise<never> {
  const promise = Promise.reject(new Error(`${call} was made to fail`))
  promise.catch(() => undefined)
  return Object.assign(promise, { [Symbol.asyncIterator]: () => ({ next: () => promise }) })
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value
}

function isIterable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value
}

const NEVER: Promise<never> = Object.assign(new Promise<never>(() => undefined), {
  [Symbol.asyncIterator]: () => ({ next: () => NEVER }),
})
/** Calls that return at once, without an effect. They also work in a dead agent, which stops at its next other call. */
const SYNCHRONOUS = new Set(['filesystem.path', 'outputs.read', 'outputs.follow', 'runtime.session'])
const QUIET_TURNS = 3
const TURNS_MAX = 100_000
const START_MS = 60_000
const ANSWER_MS = 300_000
