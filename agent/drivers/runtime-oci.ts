import fs from 'node:fs'
import { ServiceError } from '../../shared/errors.ts'
import { createKeyedLock, createLimiter } from '../../shared/locks.ts'
import type { Logger } from '../../shared/log.ts'
import type { Network } from '../ports/network.ts'
import type {
  BoxExit,
  BoxLimits,
  BoxMount,
  BoxSpec,
  ExecRequest,
  HeldExec,
  HoldRequest,
  RunningExec,
  Runtime,
  RuntimeBox,
} from '../ports/runtime.ts'
import { type BoxCommands, createBoxCommands, endLost } from './box-commands.ts'
import { collectBox, endCommands, IDS_PER_BOX, killBox } from './box-end.ts'
import { type BoxHandle, readStartTicks } from './box-handle.ts'
import { failedStart, runInit, workHome } from './box-init.ts'
import { createBoxMounts } from './box-mounts.ts'
import { unstageRoot } from './box-root.ts'
import { CRUN_COMMAND } from './crun.ts'
import { createHeldExecs, type HeldExecs } from './held-execs.ts'
import type { ExecFiles } from './holder-protocol.ts'
import { readBootId } from './host-linux.ts'
import { type OciHost, openOciHost } from './oci-host.ts'
import { buildExecConfig } from './oci-spec.ts'

export interface OciRuntimeOptions {
  /** 8 characters of `[a-z0-9]`: the mark of everything of this instance. */
  instanceId: string
  /** Directory for what does not outlive a boot. */
  runDir: string
  network: Network
  logger: Logger
  /** Default `/usr/bin/crun`. */
  crunPath?: string
  /** A static reaper that waits when called with `-P`; default `/usr/bin/catatonit`. */
  initPath?: string
  /** Of held commands; default `<runDir>/execs`, 8 MiB. */
  execFiles?: ExecFiles
}

/** The runtime of one host: crun, user namespaces and idmapped roots. Needs root, a private mount namespace, and `network` open. */
export function createOciRuntime(options: OciRuntimeOptions): Runtime {
  const execFiles = { directory: `${options.runDir}/execs`, keptBytes: 8 * 1024 ** 2 }
  const runtime = new OciRuntime({ crunPath: '/usr/bin/crun', initPath: '/usr/bin/catatonit', execFiles, ...options })
  return {
    kind: 'crun',
    open: () => runtime.open(),
    start: (spec) => runtime.start(spec),
    list: () => Promise.resolve(runtime.list()),
    stop: (id, end) => runtime.stop(id, end),
    attach: (id, mount) => runtime.attach(id, mount),
    detach: (id, source) => runtime.detach(id, source),
    mounts: async (id) => runtime.mounts(id),
    resize: (id, limits) => runtime.resize(id, limits),
    exec: async (id, request) => runtime.exec(id, request),
    hold: async (id, execId, request) => runtime.hold(id, execId, request),
    held: async () => runtime.held(),
    onExit: (listener) => runtime.onExit(listener),
    close: () => runtime.close(),
  }
}

class OciRuntime {
  readonly #options: Required<OciRuntimeOptions>
  readonly #lock = createKeyedLock()
  readonly #gate = createLimiter(STARTS_AT_ONCE)
  readonly #mounts = createBoxMounts()
  readonly #unwatch = new Map<string, () => void>()
  /** The host id of each box's id 0: by it what is left of the box's processes is known. */
  readonly #idBases = new Map<string, number>()
  readonly #held: HeldExecs
  #host: OciHost | undefined
  #commands: BoxCommands | undefined
  #listener: (exit: BoxExit) => void = () => undefined

  constructor(options: Required<OciRuntimeOptions>) {
    this.#options = options
    const { instanceId, runDir, crunPath, execFiles, logger } = options
    this.#held = createHeldExecs({
      holder: { instanceId, runDir, crunPath, execFiles },
      logger,
      endLost: (held) => endLost({ ...this.#opened(), logger }, held, this.#idBases.get(held.boxId)),
    })
  }

  async open(): Promise<void> {
    this.#host = await openOciHost(this.#options)
    await this.#held.open()
    this.#commands = createBoxCommands(this.#host, { held: this.#held, logger: this.#options.logger })
    for (const id of this.#host.handles.list()) await this.#tryAdopt(this.#host, id)
    // Nothing waits for it; if it fails the first mount tries again, and tells of it.
    this.#mounts.open().catch(() => undefined)
  }

  /** A box that runs is left as it is; parts of one that does not are removed first. */
  start(spec: BoxSpec): Promise<RuntimeBox> {
    const host = this.#opened()
    return this.#lock.run(spec.id, async () => {
      const running = host.handles.readRunning(spec.id)
      if (running !== null) return { id: spec.id, isRunning: true, pid: running.pid }
      await this.#removeParts(host, spec.id)
      try {
        return await this.#startParts(host, spec)
      } catch (error) {
        await this.#removeParts(host, spec.id)
        throw error
      }
    })
  }

  list(): RuntimeBox[] {
    const { handles, cgroups } = this.#opened()
    const ids = new Set([...handles.list(), ...cgroups.list()])
    return [...ids].map((id) => {
      const pid = handles.readRunning(id)?.pid ?? null
      return { id, isRunning: pid !== null, pid }
    })
  }

  stop(id: string, end: { graceMs: number; signal?: AbortSignal }): Promise<void> {
    const host = this.#opened()
    return this.#lock.run(id, async () => {
      this.#forgetExit(id)
      const running = host.handles.readRunning(id)
      if (running !== null) await endCommands(host.cgroups, id, { ...end, init: running.pid })
      await this.#removeParts(host, id)
    })
  }

  attach(id: string, mount: BoxMount): Promise<void> {
    return this.#whileRunning(id, (_, box) => this.#mounts.attach(box, mount))
  }

  detach(id: string, source: string): Promise<void> {
    return this.#whileRunning(id, ({ cgroups }, box) => this.#mounts.detach(box, source, () => cgroups.processes(id)))
  }

  mounts(id: string): BoxMount[] {
    const box = this.#opened().handles.readRunning(id)
    return box === null ? [] : this.#mounts.list(box)
  }

  resize(id: string, { cpus, ramMb }: BoxLimits): Promise<void> {
    return this.#whileRunning(id, async ({ cgroups }) => {
      // The one that may be refused comes first.
      await cgroups.setMemory(id, ramMb)
      cgroups.setCpus(id, cpus)
    })
  }

  exec(id: string, request: ExecRequest): Promise<RunningExec> {
    const handle = requireRunning(this.#opened(), id)
    return this.#openedCommands().exec({ id, handle }, request)
  }

  hold(id: string, execId: string, request: HoldRequest): Promise<{ held: HeldExec; cwd: string }> {
    const handle = requireRunning(this.#opened(), id)
    return this.#openedCommands().hold({ id, handle }, execId, request)
  }

  held(): HeldExec[] {
    return this.#held.list()
  }

  onExit(listener: (exit: BoxExit) => void): void {
    this.#listener = listener
  }

  async close(): Promise<void> {
    await this.#held.close(({ boxId }) => this.#host?.handles.readRunning(boxId) === null)
    this.#unwatch.clear()
    this.#host?.close()
    this.#host = undefined
    await this.#mounts.close()
  }

  /** No start or stop of the box comes in between. */
  #whileRunning(id: string, act: (host: OciHost, box: BoxHandle) => Promise<void>): Promise<void> {
    const host = this.#opened()
    return this.#lock.run(id, async () => act(host, requireRunning(host, id)))
  }

  async #startParts(host: OciHost, spec: BoxSpec): Promise<RuntimeBox> {
    const { handles, cgroups, crun } = host
    const { id, project, name, rootPath } = spec
    // The cgroup is the first thing there is of a box and the last: by it a start that was cut off is found.
    cgroups.create(id, spec)
    const slot = await this.#options.network.join({ boxId: id, project, name })
    this.#idBases.set(id, slot.idBase)
    const pid = await this.#gate.run(() => runInit(host, spec, { slot, init: this.#options.initPath }))
    const crunStatus = crun.status(id)
    crun.remember(id, crunStatus, buildExecConfig(host.seccompFilter))
    cgroups.setCpus(id, spec.cpus)
    const startTicks = readStartTicks(pid)
    if (startTicks === null) throw failedStart('init ended at once')
    const { index: slotIndex, idBase } = slot
    // Before there is a note: a box is not taken up without its data.
    for (const mount of spec.mounts) await this.#mounts.attach({ pid, startTicks, idBase, rootPath }, mount)
    handles.write(id, { bootId: readBootId(), pid, startTicks, slotIndex, idBase, project, name, rootPath, crunStatus })
    this.#watchExit(host, id, pid)
    return { id, isRunning: true, pid }
  }

  // In this order, so that at any moment what is left is found again: processes first, the note last.
  async #removeParts(host: OciHost, id: string): Promise<void> {
    const { handles, cgroups, crun, watcher } = host
    this.#forgetExit(id)
    const idBase = this.#idBases.get(id)
    // Of a start that another agent did not finish nothing more is known than its processes, of which we may be the heirs.
    if (idBase === undefined) for (const pid of cgroups.processes(id)) watcher.collect(pid)
    // Init does not end before its holder has collected what it held.
    const [, end] = await Promise.allSettled([this.#held.check(id), killBox(cgroups, id)])
    if (end.status === 'rejected') throw end.reason
    await crun.settled(id)
    if (idBase !== undefined) await collectBox(watcher, { first: idBase, count: IDS_PER_BOX })
    watcher.collectStrays(CRUN_COMMAND)
    crun.forget(id)
    unstageRoot(`${workHome(host, id)}/root`)
    fs.rmSync(workHome(host, id), { recursive: true, force: true })
    await this.#options.network.leave(id)
    this.#idBases.delete(id)
    handles.remove(id)
  }

  // One that dies meanwhile, or cannot be taken up, must not keep the agent from its start: without a note it does not run,
  // and its cgroups still tell of it.
  async #tryAdopt(host: OciHost, id: string): Promise<void> {
    try {
      await this.#adopt(host, id)
    } catch (error) {
      this.#options.logger.error('box could not be taken up', { box: id, error })
      this.#forgetExit(id)
      host.handles.remove(id)
    }
  }

  async #adopt(host: OciHost, id: string): Promise<void> {
    const handle = host.handles.readRunning(id)
    if (handle === null) return
    const { project, name, slotIndex, idBase, pid, crunStatus } = handle
    this.#idBases.set(id, idBase)
    host.crun.remember(id, crunStatus, buildExecConfig(host.seccompFilter))
    // Their streams led to the process before this one: nobody reads them, and nobody waits for their end.
    await this.#openedCommands().endOrphaned(id)
    try {
      await this.#options.network.adopt({ boxId: id, project, name }, slotIndex, pid)
    } catch (error) {
      // The box itself is well, and the others want to be taken up too.
      this.#options.logger.error('network of a running box could not be taken up', { box: id, error })
    }
    this.#watchExit(host, id, pid)
    // The number may have been given away before it was watched.
    if (host.handles.readRunning(id) === null) throw new Error('init ended meanwhile')
  }

  #watchExit({ watcher, cgroups }: OciHost, id: string, pid: number): void {
    const oomKillsBefore = cgroups.oomKills(id)
    const unwatch = watcher.watch(pid, (status) => {
      this.#unwatch.delete(id)
      const isKill = status === null || status.signal === 'SIGKILL'
      this.#listener({ id, outOfMemory: isKill && cgroups.oomKills(id) > oomKillsBefore })
    })
    this.#unwatch.set(id, unwatch)
  }

  #forgetExit(id: string): void {
    this.#unwatch.get(id)?.()
    this.#unwatch.delete(id)
  }

  #opened(): OciHost {
    if (this.#host === undefined) throw new ServiceError('runtime_unavailable', 'The runtime is not open.')
    return this.#host
  }

  #openedCommands(): BoxCommands {
    if (this.#commands === undefined) throw new ServiceError('runtime_unavailable', 'The runtime is not open.')
    return this.#commands
  }
}

function requireRunning({ handles }: OciHost, id: string): BoxHandle {
  const handle = handles.readRunning(id)
  if (handle === null) throw new ServiceError('box_not_running', 'The box is not running.')
  return handle
}

// More starts at once make none of them faster: each is some 10 ms of processor time.
const STARTS_AT_ONCE = 4
