import type { OciHost } from './oci-host.ts'

/** The observed end of a box's init. */
export interface InitEnd {
  /** The kernel's OOM killer killed it. */
  outOfMemory: boolean
}

/** Watches the inits of boxes, and tells `onExit` of each that ends, once. */
export interface BoxExits {
  watch(boxId: string, pid: number): void
  /** Tells of the end of this box's init no longer. */
  forget(boxId: string): void
  close(): void
}

export function createBoxExits(
  { watcher, cgroups }: Pick<OciHost, 'watcher' | 'cgroups'>,
  onExit: (boxId: string, end: InitEnd) => void,
): BoxExits {
  const unwatch = new Map<string, () => void>()
  return {
    watch: (boxId, pid) => {
      const oomKillsBefore = cgroups.oomKills(boxId)
      const stop = watcher.watch(pid, (status) => {
        unwatch.delete(boxId)
        const isKill = status === null || status.signal === 'SIGKILL'
        onExit(boxId, { outOfMemory: isKill && cgroups.oomKills(boxId) > oomKillsBefore })
      })
      unwatch.set(boxId, stop)
    },
    forget: (boxId) => {
      unwatch.get(boxId)?.()
      unwatch.delete(boxId)
    },
    close: () => unwatch.clear(),
  }
}
