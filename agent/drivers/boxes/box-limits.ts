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

/** Shows running boxes their limits: their own cgroups, and by lxcfs the memory and processors that /proc tells of. */
export interface BoxLimitsView {
  /** Mounts what shows the box its limits, before anything but init runs in it. Never rejects: what fails is tried again every 5 s. */
  show(boxId: string, box: MountedBox): Promise<void>
  /** The same for a box that runs already, of what it lacks. */
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

/** Prepares what boxes are shown, and from then on spreads the boxes over the CPUs. */
export function openBoxLimits(options: BoxLimitsOptions): BoxLimitsView {
  const { host, mounts, runDir, usesLxcfs = false, terminalBoxes = 0, logger } = options
  const { handles, cgroups, workDir, watcher } = host
  const covers = `${workDir}/covers`
  prepareCovers(covers)
  raiseTerminals(terminalBoxes, logger)
  /** Boxes to which that failed. */
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
      // Needs not read the table of a box that was shown nothing yet.
      await showOnce(boxId, box, [])
      // A change meanwhile missed this box, which is not known to run yet.
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
    // After the first, each box is shown its limits when it is adopted.
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
