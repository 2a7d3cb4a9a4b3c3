/** Reason why a task of a file thread pauses: to yield its turn (`turn`), for a message (`input`), or for room to send (`output`). */
export type Pause = 'turn' | 'input' | 'output'

/** Steps of a task, synchronous between its pauses. A caller can cancel it at each pause, with `return`. */
export type Steps<T> = Generator<Pause, T, undefined>

/** The task's side of its channel to the main thread. */
export interface TaskIo<Sent = never, Received = never> {
  /** True once the time slice is used up. A long task then does `yield 'turn'`. */
  mustPause(): boolean
  /** Sends a message, after waiting until fewer than `UNACKED_MAX` are unacknowledged. `transfer` moves buffers without a copy. */
  send(value: Sent, transfer?: readonly ArrayBuffer[]): Steps<void>
  /** Waits for the next message. */
  receive(): Steps<Received>
}

/** A task: its argument, its messages and its result are cloned from thread to thread. */
export type Task<Argument, Result, Sent = never, Received = never> = (
  io: TaskIo<Sent, Received>,
  argument: Argument,
) => Steps<Result>

/** The table that a module of tasks exports as `tasks`. */
export type TaskTable = Record<string, Task<never, unknown, never, never>>

export type ArgumentOf<T> = T extends (io: never, argument: infer A) => unknown ? A : never
export type ResultOf<T> = T extends (...args: never[]) => Steps<infer R> ? R : never
export type SentBy<T> = T extends (io: TaskIo<infer S, never>, ...args: never[]) => unknown ? S : never
export type ReceivedBy<T> = T extends (io: infer Io, ...args: never[]) => unknown
  ? Io extends { receive(): Steps<infer R> }
    ? R
    : never
  : never

/** An error of a task as it crosses threads: of the service, of a system call, or of the program. */
export type Failure =
  | { kind: 'service'; code: string; detail: string; cause: Failure | null }
  | { kind: 'syscall'; syscall: string; errno: number }
  | { kind: 'other'; text: string }

/** A message to the thread. */
export type ToThread =
  | { act: 'begin'; id: number; name: string; argument: unknown }
  | { act: 'message'; id: number; value: unknown }
  | { act: 'ack'; id: number }
  | { act: 'end'; id: number }
  | { act: 'ping' }

/** A message from the thread. `ack` is sent once a task has received a message. */
export type FromThread =
  | { act: 'message'; id: number; value: unknown }
  | { act: 'ack'; id: number }
  | { act: 'done'; id: number; result: unknown }
  | { act: 'failed'; id: number; failure: Failure }
  | { act: 'alive' }

/** Maximum number of unacknowledged messages per side of a channel. */
export const UNACKED_MAX = 4
