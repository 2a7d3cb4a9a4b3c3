/** Why a task of a file thread pauses: to let others have their turn, or until the other side has said something, or heard. */
export type Pause = 'turn' | 'input' | 'output'

/** Steps of a task: synchronous but for its pauses, at each of which it may also be ended, as by `return`. */
export type Steps<T> = Generator<Pause, T, undefined>

/** The thread's side of a conversation with whoever began a task. */
export interface TaskIo<Said = never, Heard = never> {
  /** Whether the slice is used up: a task that goes on for long then does `yield 'turn'`. */
  mustPause(): boolean
  /** Tells the other side, once it has heard all but a few of what was said before; `transfer` gives buffers away uncopied. */
  say(value: Said, transfer?: readonly ArrayBuffer[]): Steps<void>
  /** What the other side says next. */
  hear(): Steps<Heard>
}

/** A task: its argument, and what is said both ways and comes of it, are cloned from thread to thread. */
export type Task<Argument, Result, Said = never, Heard = never> = (
  io: TaskIo<Said, Heard>,
  argument: Argument,
) => Steps<Result>

/** What a module of tasks exports as `tasks`. */
export type TaskTable = Record<string, Task<never, unknown, never, never>>

export type ArgumentOf<T> = T extends (io: never, argument: infer A) => unknown ? A : never
export type ResultOf<T> = T extends (...args: never[]) => Steps<infer R> ? R : never
export type SentBy<T> = T extends (io: TaskIo<infer S, never>, ...args: never[]) => unknown ? S : never
export type ReceivedBy<T> = T extends (io: infer Io, ...args: never[]) => unknown
  ? Io extends { hear(): Steps<infer H> }
    ? H
    : never
  : never

/** How a task failed, as it crosses threads: an error of the service, of the system, or of the program. */
export type Failure =
  | { kind: 'service'; code: string; detail: string; cause: Failure | null }
  | { kind: 'syscall'; syscall: string; errno: number }
  | { kind: 'other'; text: string }

/** To the thread. */
export type ToThread =
  | { act: 'begin'; id: number; name: string; argument: unknown }
  | { act: 'say'; id: number; value: unknown }
  | { act: 'heard'; id: number }
  | { act: 'end'; id: number }
  | { act: 'ping' }

/** From the thread. `heard` is told once a task takes what was said to it. */
export type FromThread =
  | { act: 'said'; id: number; value: unknown }
  | { act: 'heard'; id: number }
  | { act: 'done'; id: number; result: unknown }
  | { act: 'failed'; id: number; failure: Failure }
  | { act: 'alive' }

/** How much either side of a conversation says before the other has heard it. */
export const UNACKED_MAX = 4
