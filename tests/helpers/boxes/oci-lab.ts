import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { text } from 'node:stream/consumers'
import { endLxcfs } from '../../../agent/drivers/boxes/lxcfs-process.ts'
import type { NftNetworkSettings } from '../../../agent/drivers/network/nft-network.ts'
import type { ExecExit } from '../../../agent/ports/boxes/exec-exit.ts'
import type { HostNetwork } from '../../../agent/ports/boxes/network.ts'
import type { BoxSpec, ExecRequest, Runtime } from '../../../agent/ports/boxes/runtime.ts'
import { eventually } from '../eventually.ts'
import { findLeftovers, findTraces } from '../leftovers.ts'
import { labSettings } from '../network/lab.ts'
import { type LabWorldOptions, openLabWorld } from './lab-world.ts'

/** A separate runtime on this host with a real network and busybox roots. */
export interface OciLab {
  home: string
  instanceId: string
  runtime: Runtime
  network: HostNetwork
  /** Creates a root tree and returns its path. */
  makeRoot(name: string): string
  /** Creates the root of a box and returns the box's specification. */
  spec(id: string, changes?: Partial<BoxSpec>): BoxSpec
  /** Closes the first runtime without stopping boxes and opens another, as a restarted agent would. */
  reopen(): Promise<Runtime>
  /** Closes everything but keeps its state for another lab. */
  letGo(): Promise<OciLabOptions>
  close(): Promise<void>
}

/** Output and exit status of a command. */
export interface ExecOutcome extends ExecExit {
  stdout: string
  stderr: string
}

/** State from which another lab or process can continue. */
export interface OciLabOptions extends LabWorldOptions {
  home: string
  settings: NftNetworkSettings
}

/** Opens a lab. The caller must close it, which stops its boxes. */
export async function openOciLab(given: Partial<OciLabOptions> = {}): Promise<OciLab> {
  const options = { ...given, home: given.home ?? newHome(), settings: given.settings ?? newSettings() }
  const { home, settings } = options
  const { instanceId } = settings
  const { network, create, drop } = await openLabWorld(settings, `${home}/run`, options)
  const lab: OciLab = {
    home,
    instanceId,
    network,
    runtime: create(),
    makeRoot: (name) => makeBusyboxRoot(`${home}/roots/${name}`),
    spec: (id, changes = {}) => ({
      ...DEFAULTS,
      id,
      name: id,
      hostname: id.replaceAll('_', '-'),
      rootPath: lab.makeRoot(id),
      ...changes,
    }),
    reopen: async () => {
      await lab.runtime.close()
      lab.runtime = create()
      await lab.runtime.open()
      return lab.runtime
    },
    letGo: async () => {
      await lab.runtime.close()
      await network.close({ release: false })
      drop()
      return options
    },
    close: async () => {
      for (const { id } of await lab.runtime.list()) await lab.runtime.stop(id, { graceMs: 0 })
      await lab.runtime.close()
      await endLxcfs(`${home}/run`)
      await network.close({ release: true })
      drop()
      for (const path of [home, settings.dataDir]) rmSync(path, { recursive: true, force: true })
    },
  }
  try {
    await lab.runtime.open()
    return lab
  } catch (error) {
    await network.close({ release: true })
    drop()
    throw error
  }
}

function newHome(): string {
  const home = mkdtempSync(`${tmpdir()}/boxyard-oci-`)
  execFileSync('chmod', ['711', home])
  return home
}

function newSettings(): NftNetworkSettings {
  return { ...labSettings(), instanceId: Math.random().toString(36).slice(2, 10).padEnd(8, '0') }
}

/** Runs a command to completion and collects its output. A string runs in the box's shell. */
export async function execute(
  runtime: Runtime,
  boxId: string,
  command: string | readonly string[],
  changes: Partial<ExecRequest> & { input?: string } = {},
): Promise<ExecOutcome> {
  const { input, ...request } = changes
  const running = await runtime.exec(boxId, {
    command: typeof command === 'string' ? ['/bin/sh', '-c', command] : command,
    cwd: '/',
    environment: {},
    user: null,
    ...request,
  })
  running.stdin.end(input)
  const [exit, stdout, stderr] = await Promise.all([running.exited, text(running.stdout), text(running.stderr)])
  return { ...exit, stdout, stderr }
}

/** Returns the path of a file in the box's cgroup, for cgroup v1 or v2. */
export function boxCgroupFile(lab: OciLab, boxId: string, controller: string, file: string): string {
  const root = existsSync(`/sys/fs/cgroup/${controller}`) ? `/sys/fs/cgroup/${controller}` : '/sys/fs/cgroup'
  return `${root}/${readCgroup(lab, boxId) ?? `boxyard/${lab.instanceId}/${boxId}`}/${file}`
}

// Returns the path in the box's note. It is null unless containerd chose the path.
function readCgroup({ home }: OciLab, boxId: string): string | null {
  const note = `${home}/run/boxes/${boxId}.json`
  return existsSync(note) ? (JSON.parse(readFileSync(note, 'utf8')) as { cgroup: string | null }).cgroup : null
}

/** Returns the names of the cgroups of the box's current commands. */
export function execCgroups(lab: OciLab, boxId: string): string[] {
  const path = boxCgroupFile(lab, boxId, 'freezer', '')
  const entries = existsSync(path) ? readdirSync(path, { withFileTypes: true }) : []
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
}

/** Returns the pid of the lab's shim, which outlives the lab's agents. */
export function shimOf({ instanceId }: OciLab): number {
  return Number(execFileSync('pgrep', ['-f', `shim/main.ts.*${instanceId}`], { encoding: 'utf8' }))
}

/** Lists everything on this machine that still carries the lab's id or path. */
export function leftoversOf(lab: OciLab): string[] {
  return [...findTraces()].filter((trace) => trace.includes(lab.instanceId) || trace.includes(lab.home))
}

/** Waits until nothing of the lab is left. Throws a list of the rest after two minutes, which a busy machine can need. */
export async function untilGone(lab: OciLab): Promise<void> {
  const left = await findLeftovers(new Set(), () => leftoversOf(lab), 120_000)
  if (left.length > 0) throw new Error(`${lab.instanceId} left ${left.join(', ')}`)
}

/** Polls until `isTrue` returns true. Throws after two minutes. */
export function untilTrue(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  return eventually(isTrue, 10)
}

/** Creates a root tree unless it exists. It has a static busybox and the users root and app (1000). */
export function makeBusyboxRoot(path: string): string {
  if (existsSync(path)) return path
  for (const name of ['bin', 'etc', 'proc', 'sys', 'dev', 'run', 'tmp', 'root', 'home/app', 'usr'])
    mkdirSync(`${path}/${name}`, { recursive: true })
  execFileSync('chmod', ['1777', `${path}/tmp`])
  cpSync('/bin/busybox', `${path}/bin/busybox`)
  for (const applet of APPLETS) if (applet !== 'busybox') symlinkSync('busybox', `${path}/bin/${applet}`)
  writeFileSync(`${path}/etc/passwd`, 'root:x:0:0:root:/root:/bin/sh\napp:x:1000:1000:app:/home/app:/bin/sh\n')
  writeFileSync(`${path}/etc/group`, 'root:x:0:\napp:x:1000:\naudio:x:29:app\nvideo:x:44:root,app\n')
  execFileSync('chown', ['1000:1000', `${path}/home/app`])
  return path
}

/** Resource shares of a box without limits. */
export const UNBOUNDED = { networkMbps: null, diskMbps: null, diskIops: null }

const DEFAULTS = {
  project: 'demo',
  machineId: '0123456789abcdef0123456789abcdef',
  cpus: 2,
  ramMb: 256,
  shmMb: 128,
  ...UNBOUNDED,
  pidsMax: 256,
  environment: {},
  graceSeconds: 0,
  nesting: false,
  isNew: false,
  writesNames: true,
  mounts: [],
}
const APPLETS = execFileSync('/bin/busybox', ['--list'], { encoding: 'utf8' }).trim().split('\n')
