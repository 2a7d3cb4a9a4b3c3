import fs from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { NamespacePlace } from '../host/network-tables.ts'

/** The processes of boxes. */
export interface ProcessLists {
  /** Lists the host process ids of the box. */
  processes(boxId: string): number[]
}

/**
 * Finds the network namespaces of a box: of its processes, of their open descriptors, and of its mounts, such as `ip netns add` makes. Misses
 * a namespace that only a socket or a queued packet holds. Yields to the event loop between lookups, since a box may have any number of
 * descriptors.
 */
export async function namespacesOf(boxes: ProcessLists, boxId: string): Promise<NamespacePlace[]> {
  const found = new Map<number, string>()
  let lookups = 0
  for (const { path, link } of placesIn(boxes.processes(boxId))) {
    add(found, link ?? readLink(path), path)
    if (++lookups % YIELD_EVERY === 0) await nextTurn()
  }
  return [...found].map(([inode, path]) => ({ inode, path }))
}

/** Lists paths at which processes may have a network namespace. `link` is the target of the path, if known. */
function* placesIn(pids: readonly number[]): Generator<{ path: string; link?: string }> {
  const seen = new Set<string>()
  for (const pid of pids) {
    const home = `/proc/${pid}`
    yield { path: `${home}/ns/net` }
    for (const fd of entriesOf(`${home}/fd`)) yield { path: `${home}/fd/${fd}` }
    const mountNamespace = readLink(`${home}/ns/mnt`)
    if (seen.has(mountNamespace)) continue
    seen.add(mountNamespace)
    for (const [link, path] of mountedNamespaces(tryReadText(`${home}/mountinfo`)))
      yield { path: `${home}/root${path}`, link }
  }
}

/** Returns the network namespaces in a mount table, each as `net:[inode]` with its mount point. */
export function mountedNamespaces(mountInfo: string): [link: string, path: string][] {
  return mountInfo.split('\n').flatMap((line): [string, string][] => {
    const [, , , root = '', path = ''] = line.split(' ')
    return NAMESPACE.test(root) ? [[root, path.replaceAll(/\\(\d{3})/g, (_, code: string) => octal(code))]] : []
  })
}

function add(found: Map<number, string>, link: string, path: string): void {
  const inode = Number(NAMESPACE.exec(link)?.[1] ?? 0)
  if (inode > 0 && !found.has(inode)) found.set(inode, path)
}

function octal(code: string): string {
  return String.fromCharCode(Number.parseInt(code, 8))
}

// Empty if the process has ended.
function readLink(path: string): string {
  try {
    return fs.readlinkSync(path)
  } catch {
    return ''
  }
}

// Reads a part of the directory at a time.
function* entriesOf(path: string): Generator<string> {
  let directory: fs.Dir | null = null
  try {
    directory = fs.opendirSync(path, { bufferSize: YIELD_EVERY })
    for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) yield entry.name
  } catch (error) {
    if (!isErrno(error, 'ENOENT', 'ESRCH', 'EACCES')) throw error
  } finally {
    directory?.closeSync()
  }
}

const NAMESPACE = /^net:\[(\d+)\]$/
const YIELD_EVERY = 256
