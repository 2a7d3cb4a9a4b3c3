import { existsSync } from 'node:fs'
import type { AttachedExec, DetachedExec, TerminalSession, Typing } from '../../../agent/ports/boxes/runtime.ts'
import { type Attached, attachTo } from '../attached.ts'
import { type OciLab, openOciLab, untilGone } from '../boxes/oci-lab.ts'

/** A running box and the viewers attached to its detached commands and sessions. */
export interface ShimLab {
  lab: OciLab
  /** Attaches a viewer that reads all output. */
  attach(target: DetachedExec | TerminalSession, typing?: Typing): Promise<Attached>
  /** Attaches a viewer that reads nothing. */
  attachStuck(target: DetachedExec | TerminalSession): Promise<AttachedExec>
  /** Returns whether a path exists in the box. */
  exists(path: string): boolean
  /** Detaches all viewers and ends all commands and sessions. Call it after each test. */
  endAll(): Promise<void>
  /** Closes the lab. Fails if anything of it is left on the host. */
  close(): Promise<void>
}

/** Starts the box. The caller must close the lab. */
export async function openShimLab(boxId: string): Promise<ShimLab> {
  const lab = await openOciLab()
  await lab.runtime.start(lab.spec(boxId))
  const viewers: AttachedExec[] = []
  const keep = <T extends AttachedExec>(viewer: T): T => {
    viewers.push(viewer)
    return viewer
  }
  return {
    lab,
    attach: async (target, typing) => keep(await attachTo(target, typing)),
    attachStuck: async (target) => keep(await target.attach('all')),
    exists: (path) => existsSync(`${lab.home}/roots/${boxId}${path}`),
    endAll: async () => {
      for (const each of viewers.splice(0)) each.close()
      for (const detached of await lab.runtime.listDetached()) {
        await detached.signal('SIGKILL')
        await detached.ended
        await detached.forget()
      }
      for (const { name } of await lab.runtime.sessions(boxId)) {
        const session = lab.runtime.session(boxId, name)
        await session?.signal('SIGKILL')
        await session?.ended
      }
    },
    close: async () => {
      await lab.close()
      await untilGone(lab)
    },
  }
}
