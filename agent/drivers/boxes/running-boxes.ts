import { ServiceError } from '../../../shared/errors.ts'
import { createKeyedLock } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import type { BoxLimits } from '../../ports/boxes/limits.ts'
import type { HostNetwork, Resolvers } from '../../ports/boxes/network.ts'
import type { RuntimeProblem } from '../../ports/boxes/problems.ts'
import type { BoxMount, BoxSpec, BoxUsage, RuntimeBox } from '../../ports/boxes/runtime.ts'
import type { ExecFiles } from '../exec/shim-protocol.ts'
import { createShims, type Shims } from '../exec/shims.ts'
import { CRUN_COMMAND } from '../host/crun.ts'
import { whileFrozen } from '../host/freeze.ts'
import type { BoxHandle } from '../host/handle.ts'
import { type BoxExits, createBoxExits, type InitEnd } from './box-exits.ts'
import { type BoxLimitsView, openBoxLimits } from './box-limits.ts'
import { type BoxPorts, createBoxPorts } from './box-ports.ts'
import { type BoxCommands, createBoxCommands, endLost, execConfigOf, requireRunning } from './commands.ts'
import { createDiskLimits, type DiskLimits } from './disk-limits.ts'
import { collectBox, type EndOptions, endCommands, IDS_PER_BOX, killBox } from './end.ts'
import { type BoxMounts, createBoxMounts } from './mounts.ts'
import { type OciHost, openOciHost } from './oci-host.ts'
import { followResolversIn } from './own-files.ts'
import { makeOwnIdentity } from './own-identity.ts'
import { clearRun } from './root.ts'
import { resizeSharedMemory } from './shared-memory.ts'

export interface RunningBoxesOptions {
  /** 8 characters of `[a-z0-9]` that mark everything of this instance. */
  instanceId: string
  /** Directory for runtime files, which a reboot removes. */
  runDir: string
  crunPath: string
  /** Host path of a static reaper that waits when called with `-P`. */
  initPath: string
  /** Output files of detached commands. */
  execFiles: ExecFiles
  network: Pick<HostNetwork, 'addressOf'> & Resolvers
  /** If true, lxcfs shows boxes their limits in /proc. Default: false. */
  usesLxcfs?: boolean
  /** If false, boxes use all CPUs of the host, within their limit. Default: true. */
  bindsCpus?: boolean
  /** Number of boxes for which the host must have terminals. Default: 0, which leaves the host's limit unchanged. */
  terminalBoxes?: number
  /** Commands, services and consoles that start at once. Default: 4. */
  startsAtOnce?: number
  logger: Logger
}

/** Starts and removes the parts of a box for its runtime. Each call runs while no other step of the box is under way. */
export interface BoxLife {
  start(spec: BoxSpec, onWaiting?: (why: string) => void): Promise<RuntimeBox>
  /** Succeeds for a box that never existed. */
  remove(id: string): Promise<void>
}

/**
 * The running boxes of this host, including those that an earlier process started. Manages their commands, mounts, limits and end. Records
 * each in a note (`BoxHandle`). A runtime calls `begin` once init runs, and `end` before it removes anything of a box.
 */
export class RunningBoxes {
  /** Disk limits of boxes. */
  readonly disk: DiskLimits
  readonly ports: BoxPorts
  readonly #options: RunningBoxesOptions
  readonly #lock = createKeyedLock()
  readonly #mounts: BoxMounts
  /** Host id of each box's id 0, which identifies its left-over processes. */
  readonly #idBases = new Map<string, number>()
  readonly #shims: Shims
  readonly #onExit: (id: string, end: InitEnd) => void
  #host: OciHost | undefined
  #exits: BoxExits | undefined
  #commands: BoxCommands | undefined
  #limits: BoxLimitsView | undefined

  constructor(options: RunningBoxesOptions, onExit: (id: string, end: InitEnd) => void) {
    this.#options = options
    this.#onExit = onExit
    this.#mounts = createBoxMounts(`${options.runDir}/locking`)
    const { instanceId, runDir, crunPath, execFiles, logger } = options
    this.disk = createDiskLimits(() => this.host.cgroups, logger)
    this.ports = createBoxPorts({ ...options, handles: () => this.host.handles })
    this.#shims = createShims({
      shim: { instanceId, runDir, crunPath, execFiles },
      logger,
      endLost: (lost) => endLost({ ...this.host, logger }, lost, this.#idBases.get(lost.boxId)),
    })
  }

  /** Prepares the host and adopts the running boxes. `adopt` does the runtime's part of that. */
  async open(adopt: Adopt): Promise<void> {
    const host = await openOciHost(this.#options)
    this.#host = host
    this.#exits = createBoxExits(host, { onExit: this.#onExit, logger: this.#options.logger })
    this.#limits = openBoxLimits({ ...this.#options, host, mounts: this.#mounts, inTurn: this.#lock.run })
    await this.#shims.open()
    this.#commands = createBoxCommands(host, { ...this.#options, shims: this.#shims })
    for (const id of host.handles.list()) await this.#tryAdopt(host, id, adopt)
    const boxes = () => this.list().map(({ id }) => ({ id, rootPath: this.read(id)?.rootPath }))
    this.#options.network.onResolvers((text) => followResolversIn(boxes(), text, this.#options.logger))
  }

  /** As `Runtime.warmUp`: compiles the filter of boxes, starts lxcfs and the mount thread. A failure shows up again at first use. */
  warmUp(): void {
    this.#host?.seccompFilter(false).catch(() => undefined)
    this.#mounts.open().catch(() => undefined)
    this.#limits?.warmUp()
  }

  async close(): Promise<void> {
    await this.#shims.close((boxId) => this.#host?.handles.readRunning(boxId) === null)
    this.#exits?.close()
    await this.disk.close()
    await this.#limits?.close()
    await this.#host?.settled()
    this.#host?.close()
    this.#host = undefined
    await this.#mounts.close()
  }

  get host(): OciHost {
    if (this.#host === undefined) throw new ServiceError('runtime_unavailable', 'The runtime is not open.')
    return this.#host
  }

  /** Commands and sessions of the boxes. */
  get commands(): BoxCommands {
    if (this.#commands === undefined) throw new ServiceError('runtime_unavailable', 'The runtime is not open.')
    return this.#commands
  }

  /** Starts a box unless it runs, or again if its first start was cut off. Removes left-over parts first, and again after a failure. */
  start(spec: BoxSpec, parts: BoxLife, onWaiting?: (why: string) => void): Promise<RuntimeBox> {
    return this.#lock.run(spec.id, async () => {
      const { id } = spec
      const running = this.read(id)
      if (running !== null && !spec.isNew) return { id, isRunning: true, pid: running.pid }
      await parts.remove(id)
      try {
        await clearRun(spec.rootPath)
        const box = await parts.start(spec, onWaiting)
        if (spec.isNew) await makeOwnIdentity({ ...this.#options, commands: this.commands, onWaiting }, spec)
        return box
      } catch (error) {
        await parts.remove(id)
        throw error
      }
    })
  }

  /** Ends the commands of a box as `Runtime.stop`, then removes its parts. */
  stop(id: string, end: EndOptions, parts: Pick<BoxLife, 'remove'>): Promise<void> {
    return this.#lock.run(id, async () => {
      this.#exits?.forget(id)
      const running = this.read(id)
      if (running !== null) await endCommands(this.host.cgroups, id, { ...end, init: running.pid })
      await parts.remove(id)
    })
  }

  /** Returns the handle of a running box, else null. */
  read(id: string): BoxHandle | null {
    return this.host.handles.readRunning(id)
  }

  /** Lists boxes that have a handle or a cgroup of this instance. */
  list(): RuntimeBox[] {
    const { handles, cgroups } = this.host
    const ids = new Set([...handles.list(), ...cgroups.list()])
    return [...ids].map((id) => {
      const pid = handles.readRunning(id)?.pid ?? null
      return { id, isRunning: pid !== null, pid }
    })
  }

  /** Announces a start. After this call, processes with its ids belong to the box. */
  expect(id: string, idBase: number): void {
    this.#idBases.set(id, idBase)
  }

  /** Takes over a box whose init runs: mounts its data, writes its handle and watches for its end. */
  async begin(id: string, handle: BoxHandle, mounts: readonly BoxMount[]): Promise<RuntimeBox> {
    const { handles, crun, cgroups } = this.host
    this.#idBases.set(id, handle.idBase)
    cgroups.place(id, handle.cgroup)
    crun.remember(id, handle.crunStatus, await execConfigOf(this.host, handle))
    if (handle.nesting === true) await this.#mounts.copySystem(handle)
    // Runs before the handle is written, so that no agent adopts a box without its data.
    for (const mount of mounts) await this.#mounts.attach(handle, mount)
    await this.#limits?.show(id, handle)
    handles.write(id, handle)
    this.#exits?.watch(id, handle)
    return { id, isRunning: true, pid: handle.pid }
  }

  /** Kills all of a box, and returns once nothing of it runs and its cgroups are gone. */
  async end(id: string): Promise<void> {
    const { cgroups, crun, watcher } = this.host
    this.#exits?.forget(id)
    await this.disk.forget(id)
    const idBase = this.#idBases.get(id)
    // An unfinished start of an earlier agent left only processes, which may be children of this one by now.
    if (idBase === undefined) for (const pid of cgroups.processes(id)) watcher.collect(pid)
    // Init cannot end before the shim has reaped its children in the box.
    const [, end] = await Promise.allSettled([this.#shims.check(id), killBox(cgroups, id)])
    if (end.status === 'rejected') throw end.reason
    this.ports.cut(id)
    await crun.settled(id)
    if (idBase !== undefined) await collectBox(watcher, { first: idBase, count: IDS_PER_BOX })
    watcher.collectStrays(CRUN_COMMAND)
    crun.forget(id)
  }

  /** Removes the handle of a box, its last part. */
  forget(id: string): void {
    this.#idBases.delete(id)
    this.host.cgroups.place(id, null)
    this.host.handles.remove(id)
  }

  attach(id: string, mount: BoxMount): Promise<void> {
    return this.whileRunning(id, (_, box) => this.#mounts.attach(box, mount))
  }

  detach(id: string, source: string): Promise<void> {
    return this.whileRunning(id, ({ cgroups }, box) => this.#mounts.detach(box, source, () => cgroups.processes(id)))
  }

  mounts(id: string): BoxMount[] {
    const box = this.read(id)
    return box === null ? [] : this.#mounts.list(box)
  }

  /** Mounts roots of boxes whose containers another runtime makes, before they run, or over the root of a warm pod. */
  get roots(): Pick<BoxMounts, 'stage' | 'replaceRoot'> {
    return this.#mounts
  }

  /** As `Runtime.problems`. */
  problems(): RuntimeProblem[] {
    return [...(this.#limits?.problems() ?? []), ...this.disk.problems()]
  }

  resize(id: string, { cpus, ramMb, shmMb, ...shares }: BoxLimits): Promise<void> {
    return this.whileRunning(id, async ({ cgroups }, box) => {
      // Applies the change that can fail first.
      await cgroups.setMemory(id, ramMb)
      cgroups.setCpus(id, cpus)
      this.disk.bound(id, shares, box.rootPath)
      resizeSharedMemory(box, shmMb, this.#options.logger)
    })
  }

  /** As `Runtime.usage`. */
  usage(id: string): BoxUsage | null {
    const box = this.read(id)
    return box === null ? null : this.host.cgroups.usage(id, box.pid)
  }

  /** As `Runtime.frozen`. */
  frozen<T>(id: string, work: () => Promise<T>): Promise<T> {
    const freeze = (): Promise<T> => whileFrozen(this.host.cgroups.freezer(id), work)
    return this.#lock.run(id, () => (this.read(id) === null ? work() : this.disk.unpaused(id, freeze)))
  }

  /** Runs `act` with a running box while no start or stop of it can happen. Throws `box_not_running`. */
  whileRunning<T>(id: string, act: (host: OciHost, box: BoxHandle) => Promise<T>): Promise<T> {
    return this.#lock.run(id, async () => act(this.host, requireRunning(this.host, id)))
  }

  // The agent starts without a box that it cannot adopt. The box counts as not running, and its cgroups mark its remains.
  async #tryAdopt(host: OciHost, id: string, adopt: Adopt): Promise<void> {
    try {
      const handle = host.handles.readRunning(id)
      if (handle !== null) await this.#adopt(host, { id, handle }, adopt)
    } catch (error) {
      this.#options.logger.error('failed to adopt a running box', { box: id, error })
      this.#exits?.forget(id)
      host.handles.remove(id)
    }
  }

  async #adopt(host: OciHost, { id, handle }: { id: string; handle: BoxHandle }, adopt: Adopt): Promise<void> {
    this.#idBases.set(id, handle.idBase)
    host.cgroups.place(id, handle.cgroup)
    // The earlier process may have ended while the box was frozen.
    host.cgroups.thaw(id)
    host.crun.remember(id, handle.crunStatus, await execConfigOf(host, handle))
    // The streams of these commands led to the earlier process and have no reader now.
    await this.commands.endOrphaned(id)
    host.cgroups.upgrade(id)
    await this.#limits?.showAgain(id, handle)
    await adopt(id, handle)
    this.#exits?.watch(id, handle)
    // Another process may have reused the pid before the watch began.
    if (host.handles.readRunning(id) === null) throw new Error('init ended meanwhile')
  }
}

type Adopt = (id: string, handle: BoxHandle) => Promise<void>
