import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'

// A kubelet and CNI change these settings and directories of the host, and have no option not to.

/** Saves the kernel settings and the list of absent directories from before the first cluster of this host. */
export function noteHostState(): void {
  const boot = readBoot()
  if (readNote()?.boot === boot) return
  const settings = Object.fromEntries(
    SETTINGS.filter((name) => existsSync(pathOf(name))).map((name) => [name, read(name)]),
  )
  const note: Note = { boot, settings, absent: DIRECTORIES.filter((path) => !existsSync(path)) }
  mkdirSync(RUN, { recursive: true, mode: 0o755 })
  writeFileSync(NOTE, JSON.stringify(note))
}

/** Restores the saved state. Call it when the last cluster of this host is gone. */
export function restoreHostState(): void {
  const note = readNote()
  if (note === null) return
  rmSync(NOTE)
  // The kubelet leaves its socket behind. In a directory that existed before, the socket may belong to another kubelet.
  if (note.absent.includes(DEVICE_PLUGINS)) rmSync(join(DEVICE_PLUGINS, 'kubelet.sock'), { force: true })
  for (const path of [...note.absent.toReversed(), RUN]) removeIfEmpty(path)
  // A reboot since then has reset the settings.
  if (note.boot !== readBoot()) return
  for (const [name, value] of Object.entries(note.settings)) {
    // Boxes of the embedded runtime also need forwarding, and may have started since.
    if (name === FORWARDING && hasBoxes()) continue
    if (read(name) !== value) writeFileSync(pathOf(name), value)
  }
}

/** Removes files outside of the cluster's directories: the files of the pods' network `network`, and log links into `state`. */
export function removeOutsideFiles(state: string, network: string): void {
  for (const name of list(NETWORK_RESULTS)) {
    if (name.startsWith(`${network}-`)) rmSync(join(NETWORK_RESULTS, name), { force: true })
  }
  for (const name of list(LOG_LINKS)) {
    const path = join(LOG_LINKS, name)
    if (targetOf(path).startsWith(`${state}/`)) rmSync(path, { force: true })
  }
}

interface Note {
  boot: string
  settings: Record<string, string>
  /** Directories that did not exist. */
  absent: string[]
}

function readNote(): Note | null {
  try {
    return JSON.parse(readFileSync(NOTE, 'utf8')) as Note
  } catch {
    return null
  }
}

function hasBoxes(): boolean {
  return /table \w+ boxyard_(?!cluster_)/.test(execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' }))
}

/** Removes a directory unless it holds files of others. */
function removeIfEmpty(path: string): void {
  try {
    rmdirSync(path)
  } catch (error) {
    if (!['ENOENT', 'ENOTEMPTY'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
  }
}

/** Returns the target of a link, or an empty text if another cluster has removed it. */
function targetOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return ''
  }
}

function list(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : []
}

function read(name: string): string {
  return readFileSync(pathOf(name), 'utf8').trim()
}

function pathOf(name: string): string {
  return join('/proc/sys', name)
}

function readBoot(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
}

const RUN = '/run/boxyard-cluster'
const NOTE = join(RUN, 'host-state.json')
const NETWORK_RESULTS = '/var/lib/cni/results'
const LOG_LINKS = '/var/log/containers'
const DEVICE_PLUGINS = '/var/lib/kubelet/device-plugins'
/** Parents first. */
const DIRECTORIES = [
  '/var/lib/cni',
  NETWORK_RESULTS,
  LOG_LINKS,
  '/var/lib/kubelet',
  DEVICE_PLUGINS,
  '/var/lib/boxyard-cluster',
]
const FORWARDING = 'net/ipv4/ip_forward'
const SETTINGS = [
  ...['vm/overcommit_memory', 'vm/panic_on_oom', 'kernel/panic', 'kernel/panic_on_oops'],
  ...['kernel/keys/root_maxkeys', 'kernel/keys/root_maxbytes', FORWARDING],
]
