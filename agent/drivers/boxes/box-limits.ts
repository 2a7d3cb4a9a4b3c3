import type { Logger } from '../../../shared/log.ts'
import type { RuntimeProblem } from '../../ports/boxes/runtime.ts'
import type { MountLine } from '../host/mount-info.ts'
import { cloneLimitMounts, planLimitMounts, prepareCovers } from './limit-mounts.ts'
import { openLxcfs } from './lxcfs.ts'
import type { BoxMounts, MountedBox } from './mounts.ts'
import type { OciHost } from './oci-host.ts'

/** Shows running boxes their limits: their own cgroups, and by lxcfs the memory and processors that /proc tells of. */
export interface BoxLimitsView {
  /** Mounts what the box lacks, before anything but init runs in it. */
  show(boxId: string, box: MountedBox): Promise<void>
  /** The same for a box that runs already, which does so without if that fails. */
  tryShow(boxId: string, box: MountedBox): Promise<void>
  /** Lists the problem of lxcfs, if it should run. */
  problems(): RuntimeProblem[]
  close(): Promise<void>
}

export interface BoxLimitsOptions {
  host: OciHost
  mounts: BoxMounts
  runDir: string
  usesLxcfs?: boolean
  logger: Logger
  /** Runs `act` while no other step of the box is under way. */
  inTurn(boxId: string, act: () => Promise<void>): Promise<void>
}

/** Prepares what boxes are shown, adopts or starts lxcfs, and from then on spreads the boxes over the CPUs. */
export function openBoxLimits(options: BoxLimitsOptions): BoxLimitsView {
  const { host, mounts, runDir, usesLxcfs = false, logger } = options
  const { handles, cgroups, workDir, watcher } = host
  const covers = `${workDir}/covers`
  prepareCovers(covers)
  const balancing = setInterval(() => cgroups.balanceCpus(), BALANCE_MS).unref()
  let changes = 0
  let isClosed = false
  const showOnce = async (boxId: string, box: MountedBox, table: readonly MountLine[]): Promise<void> => {
    const sources = { lxcfs: lxcfs?.files() ?? null, cgroups: cgroups.directories(boxId), covers }
    const plan = planLimitMounts(table, sources)
    if (plan.length > 0) await mounts.cover(box, cloneLimitMounts(plan))
  }
  const show = async (boxId: string, box: MountedBox): Promise<void> => {
    await lxcfs?.ready()
    let before = changes
    // Needs not read the table of a box that was shown nothing yet.
    await showOnce(boxId, box, [])
    // A change meanwhile missed this box, which is not known to run yet.
    for (; before !== changes; before = changes) await showOnce(boxId, box, mounts.table(box))
  }
  const tryShow = async (boxId: string, box: MountedBox): Promise<void> => {
    try {
      await lxcfs?.ready()
      await showOnce(boxId, box, mounts.table(box))
    } catch (error) {
      logger.error('a box could not be shown its limits', { box: boxId, error })
    }
  }
  const showAll = async (): Promise<void> => {
    for (const id of handles.list())
      await options.inTurn(id, async () => {
        const box = isClosed ? null : handles.readRunning(id)
        if (box !== null) await tryShow(id, box)
      })
  }
  const onChange = (): void => {
    changes++
    // After the first, each box is shown its limits when it is adopted.
    if (changes > 1) void showAll()
  }
  const lxcfs = usesLxcfs ? openLxcfs({ runDir, workDir, mounts, watcher, logger, onChange }) : null
  return {
    show,
    tryShow,
    problems: () => problemsOf(lxcfs?.problem() ?? null),
    close: async () => {
      isClosed = true
      clearInterval(balancing)
      await lxcfs?.close()
    },
  }
}

function problemsOf(why: string | null): RuntimeProblem[] {
  if (why === null) return []
  const evidence = `lxcfs does not run, so that boxes see the memory and processors of the host in /proc. ${why}`
  return [{ code: 'lxcfs_down', evidence, remedy: REMEDY }]
}

const BALANCE_MS = 5_000
const REMEDY =
  'Install lxcfs and see that /dev/fuse is there; it is started again by itself. BOXYARD_LXCFS=false does without.'
