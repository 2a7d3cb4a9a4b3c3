import { setTimeout as pause } from 'node:timers/promises'

/** Resolves once `look` tells true, asked every `everyMs`; throws after 40 s. */
export async function eventually(look: () => boolean | Promise<boolean>, everyMs = 50): Promise<void> {
  const deadline = Date.now() + 40_000
  while (!(await look())) {
    if (Date.now() > deadline) throw new Error(`It never came about: ${look.toString()}`)
    await pause(everyMs)
  }
}
