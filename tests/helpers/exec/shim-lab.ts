import { existsSync } from 'node:fs'
import type { AttachedExec, DetachedExec, TerminalSession, Typing } from '../../../agent/ports/boxes/runtime.ts'
import { type Attached, attachTo } from '../attached.ts'
import { leftoversOf, type OciLab, openOciLab, untilTrue } from '../boxes/oci-lab.ts'

/** A box that runs, and those who are attached to what is held in it. */
export interface HeldLab {
  lab: OciLab
  /** One who reads all it is told. */
  attach(held: DetachedExec | TerminalSession, typing?: Typing): Promise<Attached>
  /** One who does not read. */
  attachStuck(held: DetachedExec | TerminalSession): Promise<AttachedExec>
  /** Whether a path is there in the box. */
  exists(path: string): boolean
  /** Lets all go who are attached, and ends all that is held: to be called after each test. */
  endAll(): Promise<void>
  /** Fails where something is left. */
  close(): Promise<void>
}

/** Starts the box; whoever opens it closes it. */
export async function openHeldLab(boxId: string): Promise<HeldLab> {
  const lab = await openOciLab()
  await lab.runtime.start(lab.spec(boxId))
  const viewers: AttachedExec[] = []
  const keep = <T extends AttachedExec>(viewer: T): T => {
    viewers.push(viewer)
    return viewer
  }
  return {
    lab,
    attach: async (held, typing) => keep(await attachTo(held, typing)),
    attachStuck: async (held) => keep(await held.attach('all')),
    exists: (path) => existsSync(`${lab.home}/roots/${boxId}${path}`),
    endAll: async () => {
      for (const each of viewers.splice(0)) each.close()
      for (const held of await lab.runtime.held()) {
        await held.signal('SIGKILL')
        await held.ended
        await held.forget()
      }
      for (const { name } of await lab.runtime.sessions(boxId)) {
        const session = lab.runtime.session(boxId, name)
        await session?.signal('SIGKILL')
        await session?.ended
      }
    },
    close: async () => {
      await lab.close()
      await untilTrue(() => leftoversOf(lab).length === 0)
    },
  }
}
