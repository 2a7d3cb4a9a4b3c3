import { setTimeout as pause } from 'node:timers/promises'

/** Polls `look` every `everyMs` until it returns true; throws after 60 s. */
export async function eventually(look: () => boolean | Promise<boolean>, everyMs = 50): Promise<void> {
  const deadline = Date.now() + 60_000
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`It never came about: ${look.toString()}`)
    await pause(everyMs)
  }
}
