import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/** Things on this machine that carry our mark, one line each, such as `link bx3-0`. */
export type Traces = ReadonlySet<string>

/**
 * Finds mounts in this mount namespace, loop devices, links, tables, cgroups, run files, processes, and temporary directories. Also finds a
 * changed /dev/null.
 */
export function findTraces(): Traces {
  return new Set([
    ...findMounts(),
    ...loopDevices(),
    ...links(),
    ...tables(),
    ...cgroups(),
    ...runFiles(),
    ...devices(),
    ...processes(),
    ...temporaryDirectories(),
  ])
}

/** Waits up to `patienceMs` until `find` finds nothing that is not in `before`. Returns the rest. */
export async function findLeftovers(
  before: Traces,
  find: () => Iterable<string> = findTraces,
  patienceMs = 5_000,
): Promise<string[]> {
  const deadline = performance.now() + patienceMs
  for (;;) {
    const left = [...find()].filter((trace) => !before.has(trace))
    if (left.length === 0 || performance.now() > deadline) return left.sort()
    await sleep(100)
  }
}

/** Lists our mounts in this mount namespace with their ids, because two mounts can have the same path. */
export function findMounts(): string[] {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => /boxyard|pool\.img|\/dev\/loop/.test(line))
    .map((line) => `mount ${line.split(' ')[4]} (${line.split(' ')[0]})`)
}

function loopDevices(): string[] {
  const names = readdirSync('/sys/block').filter((name) => name.startsWith('loop'))
  return names.flatMap((name) => {
    const backing = readText(`/sys/block/${name}/loop/backing_file`).trim()
    return /pool|boxyard/.test(backing) ? [`loop device ${name} of ${backing}`] : []
  })
}

function links(): string[] {
  const names = readdirSync('/sys/class/net').filter((name) => /^bx\d/.test(name))
  return names.map((name) => `link ${name}`)
}

function tables(): string[] {
  const listed = execFileSync('nft', ['list', 'tables'], { encoding: 'utf8' })
  return [...listed.matchAll(/table (\w+ boxyard_\w+)/g)].map(([, name]) => `table ${name}`)
}

function cgroups(): string[] {
  const roots = ['/sys/fs/cgroup', ...children('/sys/fs/cgroup')]
  return roots
    .map((root) => join(root, 'boxyard'))
    .flatMap((path) => children(path).flatMap(directoriesOf))
    .map((path) => `cgroup ${path}`)
}

function runFiles(): string[] {
  const below = (path: string): string[] => [path, ...entries(path).flatMap(below)]
  return entries('/run/boxyard')
    .flatMap(below)
    .filter((path) => !STAYING.includes(path))
    .map((path) => `run file ${path}`)
}

function devices(): string[] {
  const { mode, uid, gid } = statSync('/dev/null')
  const state = `${uid}:${gid} ${(mode & 0o7777).toString(8)}`
  return state === '0:0 666' ? [] : [`device /dev/null now ${state}`]
}

function processes(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && name !== String(process.pid))
  return pids.flatMap((pid) => {
    const command = readText(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim()
    const isOurs = OUR_PROGRAMS.test(command) || /:\/boxyard\//.test(readText(`/proc/${pid}/cgroup`))
    return isOurs ? [`process ${pid} ${command.slice(0, 120)}`] : []
  })
}

function temporaryDirectories(): string[] {
  const names = readdirSync(tmpdir()).filter((name) => name.startsWith('boxyard-'))
  return names.map((name) => `temporary ${join(tmpdir(), name)}`)
}

/** Lists a directory and its subdirectories. Skips directories that vanish while it reads. */
export function directoriesOf(path: string): string[] {
  return [path, ...children(path).flatMap(directoriesOf)]
}

function children(path: string): string[] {
  try {
    const found = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return found.map(({ name }) => join(path, name))
  } catch {
    return []
  }
}

/** Lists a directory. Returns an empty list if it is missing or not a directory. */
function entries(path: string): string[] {
  try {
    return readdirSync(path).map((name) => join(path, name))
  } catch {
    return []
  }
}

/** Reads a file. Returns '' if it is gone. */
export function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

/** Files that all instances on a host share and that remain. */
const STAYING = ['/run/boxyard/hosts', '/run/boxyard/hosts/.lock', '/run/boxyard/init']
const OUR_PROGRAMS =
  /agent\/(shim\/)?main\.(ts|mjs)|functions\/standalone\.(ts|mjs)|infra\/up\.ts|\bhaproxy -D -f \S*boxyard|\bcaddy run --config \S*boxyard|\bdnsmasq .*boxyard|\blxcfs -f .*boxyard|\bpebble -config |\bcrun\b.* (run|exec|create) |^catatonit /
