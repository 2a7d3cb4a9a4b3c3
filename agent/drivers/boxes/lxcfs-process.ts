import fs from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { readTextIfThere } from '../../lib/disk/file-text.ts'
import { closeFd, openPipe } from '../../lib/syscalls/descriptors.ts'
import { startProgram } from '../../lib/syscalls/spawn.ts'
import { inBoxesUnit } from '../host/boxes-unit.ts'
import { readStartTicks } from '../host/handle.ts'
import { mountNamespace } from '../host/host-namespace.ts'

/** Returns the mount point of the lxcfs of a run directory, in a mount namespace that only lxcfs has. */
export function lxcfsMountPoint(runDir: string): string {
  return `${runDir}/lxcfs/mnt`
}

/**
 * Starts lxcfs and resolves with its pid once it answers. It keeps running when this process ends.
 * @throws Error with its last words if it ends, or does not answer within `timeoutMs`
 */
export async function startLxcfs(runDir: string, timeoutMs: number): Promise<number> {
  const directory = `${runDir}/lxcfs`
  const mountPoint = lxcfsMountPoint(runDir)
  fs.mkdirSync(mountPoint, { recursive: true, mode: 0o700 })
  const options = ['-f', '--enable-loadavg', '--enable-cfs', '-p', `${directory}/pid`, mountPoint]
  const script = ['sh', '-c', START, 'lxcfs', runDir, ...options]
  const output = openPipe()
  const input = fs.openSync('/dev/null', 'r')
  let pid: number
  try {
    const args = ['env', ...inBoxesUnit('lxcfs', [...mountNamespace(directory), ...OWN_NAMESPACES, ...script])]
    const stdio = [input, output.writeFd, output.writeFd]
    pid = await startProgram({ path: '/usr/bin/env', args, env: { PATH: PROGRAM_PATH }, stdio })
  } catch (error) {
    closeFd(output.readFd)
    throw error
  } finally {
    closeFd(input)
    closeFd(output.writeFd)
  }
  const lastWords = keepLastWords(output.readFd)
  const deadline = performance.now() + timeoutMs
  while (readStartTicks(pid) !== null && performance.now() < deadline) {
    if (await answers(pid, runDir, timeoutMs)) return pid
    await pause(POLL_MS)
  }
  endProcess(pid)
  throw new Error(lastWords() || 'lxcfs did not answer in time.')
}

/** Finds the lxcfs of an earlier agent that answers, and kills those that do not. Returns null if there is none. */
export async function findLxcfs(runDir: string): Promise<number | null> {
  let found: number | null = null
  for (const pid of listLxcfs(runDir)) {
    if (found === null && (await answers(pid, runDir, ANSWER_MS))) found = pid
    else endProcess(pid)
  }
  return found
}

/** Ends the lxcfs of a run directory. After that, its files fail in boxes that still run. */
export async function endLxcfs(runDir: string): Promise<void> {
  for (let left = listLxcfs(runDir); left.length > 0; left = listLxcfs(runDir)) {
    left.forEach(endProcess)
    await pause(POLL_MS)
  }
  fs.rmSync(`${runDir}/lxcfs`, { recursive: true, force: true })
}

/** Resolves to true if process `pid` serves the files of lxcfs. Gives up after `timeoutMs`. */
export async function answers(pid: number, runDir: string, timeoutMs: number): Promise<boolean> {
  const late = pause(timeoutMs, '', { ref: false })
  const path = `/proc/${pid}/root${lxcfsMountPoint(runDir)}/proc/uptime`
  const text = await Promise.race([fs.promises.readFile(path, 'utf8').catch(() => ''), late])
  return text !== ''
}

/** Kills a process that may have ended. A polite signal does not work, because lxcfs waits until its mount is unused. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}

function listLxcfs(runDir: string): number[] {
  const mountPoint = lxcfsMountPoint(runDir)
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const isNamed = (pid: string): boolean => readTextIfThere(`/proc/${pid}/cmdline`).split('\0').at(-2) === mountPoint
  return pids.filter((pid) => isNamed(pid) && isHostRoot(pid)).map(Number)
}

// A process of a box may take any name, but it has another user namespace.
function isHostRoot(pid: string): boolean {
  try {
    const isHost = fs.readlinkSync(`/proc/${pid}/ns/user`) === fs.readlinkSync('/proc/self/ns/user')
    return isHost && /^Uid:\t0\t0\t/m.test(readTextIfThere(`/proc/${pid}/status`))
  } catch {
    return false
  }
}

/** Reads a pipe to its end, so that its writer never waits. Returns a function that gives the last lines. */
function keepLastWords(fd: number): () => string {
  let text = ''
  new Socket({ fd, readable: true, writable: false })
    .on('error', () => undefined)
    .on('data', (chunk: Buffer) => {
      text = (text + chunk.toString()).slice(-KEPT_CHARACTERS)
    })
    .unref()
  return () => text.trim().split('\n').slice(-LINES).join(' ')
}

// In a copy of the agent's namespace, mounts of the agent would stay as long as lxcfs runs. It gets only the capabilities to enter the
// namespaces of boxes and to mount.
const START = `
mounts=$(while read -r _ _ _ _ path _; do case $path in "$1"/*) echo "$path" ;; esac; done </proc/self/mountinfo)
[ -z "$mounts" ] || umount -l $mounts 2>/dev/null
shift
exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all,+sys_admin,+sys_chroot,+sys_ptrace,+dac_read_search -- lxcfs "$@"`
const OWN_NAMESPACES = ['unshare', '--mount', '--net', '--ipc', '--uts', '--propagation', 'private', '--']
const PROGRAM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
const ANSWER_MS = 2_000
const POLL_MS = 5
const KEPT_CHARACTERS = 2_000
const LINES = 2
