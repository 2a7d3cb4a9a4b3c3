import type { Logger } from '../../../shared/log.ts'
import type { BoxHandle } from '../host/handle.ts'
import { createNetworkTables } from './network-tables.ts'
import type { OciHost } from './oci-host.ts'

/** The observed end of a box's init. */
export interface InitEnd {
  /** The kernel's OOM killer killed it. */
  outOfMemory: boolean
  /** Why the agent killed it. Absent if it did not. */
  why?: string | undefined
}

/** Watches the inits of boxes, and calls `onExit` once for each that ends. Ends boxes that take too much of the network tables. */
export interface BoxExits {
  watch(boxId: string, box: Pick<BoxHandle, 'pid' | 'nesting'>): void
  /** Stops reporting the end of this box's init. */
  forget(boxId: string): void
  close(): void
}

export interface BoxExitsOptions {
  onExit(boxId: string, end: InitEnd): void
  logger: Logger
}

export function createBoxExits(
  { watcher, cgroups }: Pick<OciHost, 'watcher' | 'cgroups'>,
  { onExit, logger }: BoxExitsOptions,
): BoxExits {
  const unwatch = new Map<string, () => void>()
  const tables = createNetworkTables({ cgroups, logger })
  return {
    watch: (boxId, { pid, nesting }) => {
      const oomKillsBefore = cgroups.oomKills(boxId)
      const stop = watcher.watch(pid, (status) => {
        unwatch.delete(boxId)
        const isKill = status === null || status.signal === 'SIGKILL'
        const why = tables.whyEnded(boxId)
        const outOfMemory = why === undefined && isKill && cgroups.oomKills(boxId) > oomKillsBefore
        onExit(boxId, { outOfMemory, why })
      })
      unwatch.set(boxId, stop)
      if (nesting === true) tables.watch(boxId)
    },
    forget: (boxId) => {
      unwatch.get(boxId)?.()
      unwatch.delete(boxId)
      tables.forget(boxId)
    },
    close: () => {
      unwatch.clear()
      tables.close()
    },
  }
}
