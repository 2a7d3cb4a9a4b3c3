import fs from 'node:fs'
import { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { createGate, createKeyedLock } from '../lib/locks.ts'
import type { Network, NetworkSlot } from '../ports/network.ts'
import type { BoxExit, BoxSpec, ExecRequest, RunningExec, Runtime, RuntimeBox } from '../ports/runtime.ts'
import { collectBox, endCommands, killBox } from './box-end.ts'
import { readStartTicks } from './box-handle.ts'
import { prepareMountPoints, stageRoot, unstageRoot } from './box-root.ts'
import { findBoxUser, findHome } from './box-users.ts'
import { CRUN_COMMAND, type CrunOutcome } from './crun.ts'
import { readBootId } from './host-linux.ts'
import { dissolve, startExec } from './oci-exec.ts'
import { type OciHost, openOciHost } from './oci-host.ts'
import { type BoxParts, buildBoxConfig, buildExecConfig } from './oci-spec.ts'

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
}

/** The runtime of one host: crun, user namespaces and idmapped roots. Needs root, a private mount namespace, and `network` open. */
export function createOciRuntime(options: OciRuntimeOptions): Runtime {
  const runtime = new OciRuntime({ crunPath: '/usr/bin/crun', initPath: '/usr/bin/catatonit', ...options })
  return {
    kind: 'crun',
    open: () => runtime.open(),
    start: (spec) => runtime.start(spec),
    list: () => Promise.resolve(runtime.list()),
    stop: (id, end) => runtime.stop(id, end),
    exec: async (id, request) => runtime.exec(id, request),
    onExit: (listener) => runtime.onExit(listener),
    close: () => Promise.resolve(runtime.close()),
  }
}

class OciRuntime {
  readonly #options: Required<OciRuntimeOptions>
  readonly #lock = createKeyedLock()
  readonly #gate = createGate(STARTS_AT_ONCE)
  readonly #unwatch = new Map<string, () => void>()
  /** The host id of each box's id 0: by it what is left of the box's processes is known. */
  readonly #idBases = new Map<string, number>()
  #execs = 0
  #host: OciHost | undefined
  #listener: (exit: BoxExit) => void = () => undefined

  constructor(options: Required<OciRuntimeOptions>) {
    this.#options = options
  }

  async open(): Promise<void> {
    this.#host = await openOciHost(this.#options)
    for (const id of this.#host.handles.list()) await this.#tryAdopt(this.#host, id)
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

  exec(id: string, request: ExecRequest): Promise<RunningExec> {
    const host = this.#opened()
    const handle = host.handles.readRunning(id)
    if (handle === null) throw new ServiceError('box_not_running', 'The box is not running.')
    const user = findBoxUser(handle.rootPath, request.user)
    const task = {
      boxId: id,
      idBase: handle.idBase,
      user,
      request,
      cwd: request.cwd ?? findHome(handle.rootPath, user),
      isRunning: () => host.handles.readRunning(id) !== null,
    }
    const nextName = (): string => `exec-${process.pid}-${this.#execs++}`
    return startExec({ ...host, logger: this.#options.logger, nextName }, task)
  }

  onExit(listener: (exit: BoxExit) => void): void {
    this.#listener = listener
  }

  close(): void {
    this.#unwatch.clear()
    this.#host?.close()
    this.#host = undefined
  }

  async #startParts(host: OciHost, spec: BoxSpec): Promise<RuntimeBox> {
    const { handles, cgroups, crun } = host
    const { id, project, name, rootPath } = spec
    // The cgroup is the first thing there is of a box and the last: by it a start that was cut off is found.
    cgroups.create(id, spec)
    const slot = await this.#options.network.join({ boxId: id, project, name })
    this.#idBases.set(id, slot.idBase)
    const pid = await this.#gate.run(() => this.#runInit(host, spec, slot))
    const crunStatus = crun.status(id)
    crun.remember(id, crunStatus, buildExecConfig(host.seccompFilter))
    cgroups.setCpus(id, spec.cpus)
    const startTicks = readStartTicks(pid)
    if (startTicks === null) throw failedStart({ message: 'init ended at once', wasKilled: false, pid: null })
    const { index: slotIndex, idBase } = slot
    handles.write(id, { bootId: readBootId(), pid, startTicks, slotIndex, idBase, project, name, rootPath, crunStatus })
    this.#watchExit(host, id, pid)
    return { id, isRunning: true, pid }
  }

  async #runInit(host: OciHost, spec: BoxSpec, slot: NetworkSlot): Promise<number> {
    const { cgroups, crun, watcher } = host
    const home = workHome(host, spec.id)
    fs.mkdirSync(home, { mode: 0o711 })
    stageRoot(spec.rootPath, `${home}/root`, slot.userNamespace)
    const config = buildBoxConfig(spec, this.#parts(host, spec, slot))
    const outcome = await crun.start(spec.id, config, cgroups.entrances(spec.id))
    watcher.collectStrays(CRUN_COMMAND)
    // The box has a copy of its own; each mount that stayed would make the next start slower.
    unstageRoot(`${home}/root`)
    if (outcome.pid === null || outcome.message !== '') throw failedStart(outcome)
    return outcome.pid
  }

  #parts(host: OciHost, spec: BoxSpec, slot: NetworkSlot): BoxParts {
    const home = workHome(host, spec.id)
    const texts = { hostname: `${spec.hostname}\n`, 'machine-id': `${spec.machineId}\n` }
    for (const [name, text] of Object.entries(texts)) fs.writeFileSync(`${home}/${name}`, text, { mode: 0o644 })
    const files: Record<string, string> = {
      hosts: slot.hostsFile,
      'resolv.conf': slot.resolvFile,
      hostname: `${home}/hostname`,
      'machine-id': `${home}/machine-id`,
    }
    const mountable = prepareMountPoints(spec.rootPath, Object.keys(files))
    return {
      stagedRoot: `${home}/root`,
      userNamespace: slot.userNamespace,
      networkNamespace: slot.networkNamespace,
      init: this.#options.initPath,
      files: Object.fromEntries(mountable.map((name) => [`/etc/${name}`, files[name] ?? ''])),
      seccompFilter: host.seccompFilter,
      cgroupVersion: host.cgroups.version,
    }
  }

  // In this order, so that at any moment what is left is found again: processes first, the note last.
  async #removeParts(host: OciHost, id: string): Promise<void> {
    const { handles, cgroups, crun, watcher } = host
    this.#forgetExit(id)
    const idBase = this.#idBases.get(id)
    // Of a start that another agent did not finish nothing more is known than its processes, of which we may be the heirs.
    if (idBase === undefined) for (const pid of cgroups.processes(id)) watcher.collect(pid)
    await killBox(cgroups, id)
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
    for (const exec of host.cgroups.execs(id)) {
      // If they are children of ours, the box could not end before they are collected.
      for (const each of host.cgroups.execProcesses(id, exec)) host.watcher.collect(each)
      host.cgroups.killExec(id, exec)
      await dissolve({ ...host, logger: this.#options.logger }, id, exec)
    }
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
}

function workHome({ workDir }: OciHost, boxId: string): string {
  return `${workDir}/boxes/${boxId}`
}

function failedStart(outcome: CrunOutcome): ServiceError {
  return new ServiceError('internal', 'The box could not be started; the cause is logged under the request id.', {
    cause: new Error(outcome.wasKilled ? 'crun was killed' : `crun: ${outcome.message}`),
  })
}

// Ids of a box's user namespace.
const IDS_PER_BOX = 65_536
// More starts at once make none of them faster: each is some 10 ms of processor time.
const STARTS_AT_ONCE = 4
