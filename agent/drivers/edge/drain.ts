import type { Clock } from '../../ports/host/clock.ts'
import { commandHaproxy, findStreams, readUses } from './admin.ts'
import type { EdgeProcess } from './process.ts'

export interface DrainOptions {
  target: { address: string; port: number }
  graceMs: number
  clock: Clock
  processes(): readonly EdgeProcess[]
}

/** Resolves once no request is open to the target; those that are after the grace are cut off, for `CUT_MS` at most. */
export async function drainTarget({ target, graceMs, clock, processes }: DrainOptions): Promise<void> {
  const name = `${target.address}:${target.port}`
  const deadline = clock.now() + graceMs
  // What was decided in the last moment before may not be counted yet: it has to be quiet twice.
  for (let quiet = 0; quiet < 2 && clock.now() < deadline + CUT_MS; ) {
    quiet = (await countOpen(processes(), name)) === 0 ? quiet + 1 : 0
    if (quiet === 0 && clock.now() >= deadline) await cutOff(processes(), name)
    if (quiet < 2) await clock.sleep(quiet > 0 ? QUIET_MS : LOOK_MS)
  }
}

async function countOpen(processes: readonly EdgeProcess[], name: string): Promise<number> {
  const tables = await Promise.all(processes.map(({ socket }) => readUses(socket, { isOpen: true }).catch(() => [])))
  return tables.flat().reduce((sum, { target, open }) => (target === name ? sum + open : sum), 0)
}

async function cutOff(processes: readonly EdgeProcess[], name: string): Promise<void> {
  for (const { socket } of processes) {
    const ids = await findStreams(socket, name).catch(() => [])
    // One that has just ended is no fault.
    await commandHaproxy(
      socket,
      ids.map((id) => `shutdown session ${id}`),
    ).catch(() => undefined)
  }
}

const LOOK_MS = 20
const CUT_MS = 5_000
const QUIET_MS = 5
