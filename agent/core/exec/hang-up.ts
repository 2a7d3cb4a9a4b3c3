import type { Clock } from '../../ports/host/clock.ts'

/** What can be hung up: a command or a session, with all that it started. */
export interface HangUpTarget {
  signal(name: NodeJS.Signals): Promise<void>
  /** Settles when it has ended. */
  ended: Promise<unknown>
}

/** As when a terminal is closed: SIGHUP, and SIGKILL for what has not heeded that within two seconds; nothing if it has ended. */
export async function hangUp(target: HangUpTarget, clock: Clock): Promise<void> {
  const isOver = target.ended.then(
    () => true,
    () => true,
  )
  // What an ended command left running goes on, whoever was told of its end.
  if (await Promise.race([isOver, Promise.resolve(false)])) return
  await target.signal('SIGHUP')
  if (await Promise.race([isOver, clock.sleep(HANG_UP_MS).then(() => false)])) return
  await target.signal('SIGKILL')
}

const HANG_UP_MS = 2_000
