import type { Logger } from '../../../shared/log.ts'
import { repeat } from '../../../shared/repeat.ts'
import type { RuntimeProblem } from '../../ports/boxes/problems.ts'
import type { MountLine } from '../host/mount-info.ts'
import { raiseTerminals, terminalProblems } from '../host/terminals.ts'
import { cloneLimitMounts, planLimitMounts, prepareCovers } from './limit-mounts.ts'
import { openLxcfs } from './lxcfs.ts'
import type { MountedBox } from './mount-table.ts'
import type { BoxMounts } from './mounts.ts'
import type { OciHost } from './oci-host.ts'

/** Shows running boxes their limits. They see their own cgroups, and lxcfs provides the memory and CPUs in /proc. */
export interface BoxLimitsView {
  /** Mounts the files with the limits of a box, before anything but init runs in it. Never rejects. Retries failures every 5 s. */
  show(boxId: string, box: MountedBox): Promise<void>
  /** Mounts the missing files in a box that already runs. */
  showAgain(boxId: string, box: MountedBox): Promise<void>
  /** Adopts or starts lxcfs in the background, as the first `show` does. */
  warmUp(): void
  /** Lists the problems of lxcfs, if it should run, and of the number of terminals. */
  problems(): RuntimeProblem[]
  close(): Promise<void>
}

export interface BoxLimitsOptions {
  host: OciHost
  mounts: BoxMounts
  runDir: string
  usesLxcfs?: boolean
  terminalBoxes?: number
  logger: Logger
  /** Runs `act` while no other step of the box is under way. */
  inTurn(boxId: string, act: () => Promise<void>): Promise<void>
}

/** Prepares the files with the limits of boxes, and then regularly spreads the boxes over the CPUs. */
export function openBoxLimits(options: BoxLimitsOptions): BoxLimitsView {
  const { host, mounts, runDir, usesLxcfs = false, terminalBoxes = 0, logger } = options
  const { handles, cgroups, workDir, watcher } = host
  const covers = `${workDir}/covers`
  prepareCovers(covers)
  raiseTerminals(terminalBoxes, logger)
  /** Boxes whose mounts failed. */
  const missed = new Set<string>()
  let changes = 0
  let isClosed = false
  const showOnce = async (boxId: string, box: MountedBox, table: readonly MountLine[]): Promise<void> => {
    const sources = { lxcfs: lxcfs?.files() ?? null, cgroups: cgroups.directories(boxId), covers }
    const plan = planLimitMounts(table, sources)
    if (plan.length > 0) await mounts.cover(box, cloneLimitMounts(plan))
  }
  const noteMissed = async (boxId: string, act: () => Promise<void>): Promise<void> => {
    try {
      await lxcfs?.ready()
      await act()
      missed.delete(boxId)
    } catch (error) {
      if (!missed.has(boxId)) logger.error('failed to show a box its limits, retrying', { box: boxId, error })
      missed.add(boxId)
    }
  }
  const show = (boxId: string, box: MountedBox): Promise<void> =>
    noteMissed(boxId, async () => {
      let before = changes
      // A new box has no mounts yet, so its table need not be read.
      await showOnce(boxId, box, [])
      // A change during this missed the box, which is not known to run yet.
      for (; before !== changes; before = changes) await showOnce(boxId, box, mounts.table(box))
    })
  const showAgain = (boxId: string, box: MountedBox): Promise<void> =>
    noteMissed(boxId, () => showOnce(boxId, box, mounts.table(box)))
  const showAll = async (ids: readonly string[]): Promise<void> => {
    for (const id of ids)
      await options.inTurn(id, async () => {
        const box = isClosed ? null : handles.readRunning(id)
        if (box === null) missed.delete(id)
        else await showAgain(id, box)
      })
  }
  const onMissed = (error: unknown): void => logger.error('failed to show boxes their limits', { error })
  const onUneven = (error: unknown): void => logger.error('failed to spread boxes over the CPUs', { error })
  const stopShowing = repeat(() => showAll([...missed]), { everyMs: BALANCE_MS, onError: onMissed })
  const stopBalancing = repeat(() => cgroups.balanceCpus(), { everyMs: BALANCE_MS, onError: onUneven })
  const onChange = (): void => {
    changes++
    // For the first change, each box gets its mounts when it is adopted.
    if (changes > 1) showAll(handles.list()).catch(onMissed)
  }
  const lxcfs = usesLxcfs ? openLxcfs({ runDir, workDir, mounts, watcher, logger, onChange }) : null
  return {
    show,
    showAgain,
    // Never rejects.
    warmUp: () => void lxcfs?.ready(),
    problems: () => [...problemsOf(lxcfs?.problem() ?? null), ...terminalProblems(terminalBoxes)],
    close: async () => {
      isClosed = true
      stopShowing()
      stopBalancing()
      await lxcfs?.close()
    },
  }
}

function problemsOf(why: string | null): RuntimeProblem[] {
  if (why === null) return []
  const evidence = `lxcfs does not run, so /proc in boxes shows the memory and CPUs of the host. ${why}`
  return [{ code: 'lxcfs_down', evidence, remedy: REMEDY }]
}

const BALANCE_MS = 5_000
const REMEDY =
  'Install lxcfs and check that /dev/fuse exists. The agent restarts lxcfs automatically. To run without it, set BOXYARD_LXCFS=false.'
