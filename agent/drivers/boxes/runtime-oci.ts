import fs from 'node:fs'
import { createLimiter } from '../../../shared/locks.ts'
import type { BoxLimits } from '../../ports/boxes/limits.ts'
import type { Network } from '../../ports/boxes/network.ts'
import type { BoxExit, BoxSpec, Runtime, RuntimeBox } from '../../ports/boxes/runtime.ts'
import { readBootId } from '../host/facts.ts'
import { type BoxHandle, readStartTicks } from '../host/handle.ts'
import { COMMAND_STARTS } from './commands.ts'
import { initFailure, runInit, workHome } from './init.ts'
import { unstageRoot } from './root.ts'
import { type BoxLife, RunningBoxes, type RunningBoxesOptions } from './running-boxes.ts'
import { runtimeOf } from './runtime-of.ts'

export interface OciRuntimeOptions extends Pick<RunningBoxesOptions, OciOption> {
  network: Network
  /** Default `/usr/bin/crun`. */
  crunPath?: string
  /** Default `/usr/bin/catatonit`. */
  initPath?: string
  /** Output files of detached commands. Default: `<runDir>/execs`, 8 MiB each. */
  execFiles?: RunningBoxesOptions['execFiles']
}

type OciOption = 'instanceId' | 'runDir' | 'usesLxcfs' | 'bindsCpus' | 'terminalBoxes' | 'startsAtOnce' | 'logger'

/**
 * Creates the runtime of a single host: crun, user namespaces and idmapped roots. Needs root, a private mount namespace, and
 * `network` open.
 */
export function createOciRuntime(options: OciRuntimeOptions): Runtime {
  const execFiles = { directory: `${options.runDir}/execs`, keptBytes: 8 * 1024 ** 2 }
  const limits = { usesLxcfs: false, bindsCpus: true, terminalBoxes: 0, startsAtOnce: COMMAND_STARTS }
  const runtime = new OciRuntime({ ...limits, ...DEFAULT_PATHS, execFiles, ...options })
  const { boxes } = runtime
  return {
    ...runtimeOf(boxes, runtime),
    kind: 'crun',
    open: () => runtime.open(),
    // Depends on nothing that can be unavailable.
    checkReady: async () => undefined,
    list: async () => boxes.list(),
    resize: (id, limits) => runtime.resize(id, limits),
    onExit: (listener) => runtime.onExit(listener),
    onRecovery: () => undefined,
    close: () => boxes.close(),
  }
}

class OciRuntime implements BoxLife {
  readonly boxes: RunningBoxes
  readonly #options: Required<OciRuntimeOptions>
  readonly #gate = createLimiter(STARTS_AT_ONCE)
  #listener: (exit: BoxExit) => void = () => undefined

  constructor(options: Required<OciRuntimeOptions>) {
    this.#options = options
    this.boxes = new RunningBoxes(options, (id, end) => this.#listener({ id, ...end, isLost: false }))
  }

  open(): Promise<void> {
    return this.boxes.open((id, handle) => this.#adoptNetwork(id, handle))
  }

  onExit(listener: (exit: BoxExit) => void): void {
    this.#listener = listener
  }

  async resize(id: string, limits: BoxLimits): Promise<void> {
    await this.boxes.resize(id, limits)
    await this.#options.network.limit(id, limits.networkMbps)
  }

  async start(spec: BoxSpec): Promise<RuntimeBox> {
    const { host } = this.boxes
    const { id, project, name, rootPath, nesting, networkMbps: mbps } = spec
    // The cgroup is created first and removed last, because it reveals an interrupted start.
    host.cgroups.create(id, spec)
    this.boxes.disk.bound(id, spec, rootPath)
    const slot = await this.#options.network.join({ boxId: id, project, name, nesting, mbps })
    this.boxes.expect(id, slot.idBase)
    const namesReady = this.#options.network.namesReady(id)
    const { initPath: init, logger } = this.#options
    const pid = await this.#gate.run(() => runInit(host, spec, { slot, init, logger }))
    if (nesting) host.cgroups.delegate(id, { owner: slot.idBase, init: pid })
    host.cgroups.setCpus(id, spec.cpus)
    const startTicks = readStartTicks(pid)
    if (startTicks === null) throw initFailure('init ended at once')
    const { index: slotIndex, idBase } = slot
    const [bootId, crunStatus] = [readBootId(), host.crun.status(id)]
    await namesReady
    const facts = { bootId, pid, startTicks, slotIndex, idBase, project, name, rootPath, cgroup: null, crunStatus }
    return this.boxes.begin(id, { ...facts, nesting }, spec.mounts)
  }

  // The order lets the next start find everything after a crash: processes first, the handle last.
  async remove(id: string): Promise<void> {
    const { host } = this.boxes
    await this.boxes.end(id)
    unstageRoot(`${workHome(host, id)}/root`)
    fs.rmSync(workHome(host, id), { recursive: true, force: true })
    await this.#options.network.leave(id)
    this.boxes.forget(id)
  }

  // Only logs a failure. The box itself works, and the agent must still adopt the other boxes.
  async #adoptNetwork(id: string, { project, name, slotIndex, pid, nesting = false }: BoxHandle): Promise<void> {
    try {
      await this.#options.network.adopt({ boxId: id, project, name, nesting }, slotIndex, pid)
    } catch (error) {
      this.#options.logger.error('failed to adopt the network of a running box', { box: id, error })
    }
  }
}

const DEFAULT_PATHS = { crunPath: '/usr/bin/crun', initPath: '/usr/bin/catatonit' }
// More parallel starts are not faster, because each takes about 10 ms of CPU time.
const STARTS_AT_ONCE = 4
