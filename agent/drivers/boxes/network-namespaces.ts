import fs from 'node:fs'
import { tryReadText } from '../../lib/disk/file-text.ts'
import type { NamespacePlace } from '../host/network-tables.ts'

/** The processes of boxes. */
export interface BoxProcesses {
  /** Lists the host process ids of the box. */
  processes(boxId: string): number[]
}

/**
 * Finds each network namespace of a box: those of its processes, those that their descriptors hold open, and those that
 * are mounted in it, as `ip netns add` does. A namespace that only a socket or a message under way holds is not found.
 */
export function namespacesOf(boxes: BoxProcesses, boxId: string): NamespacePlace[] {
  const found = new Map<number, string>()
  const tables = new Set<string>()
  for (const pid of boxes.processes(boxId)) {
    const home = `/proc/${pid}`
    add(found, readLink(`${home}/ns/net`), `${home}/ns/net`)
    for (const fd of listed(`${home}/fd`)) add(found, readLink(`${home}/fd/${fd}`), `${home}/fd/${fd}`)
    const mountNamespace = readLink(`${home}/ns/mnt`)
    if (tables.has(mountNamespace)) continue
    tables.add(mountNamespace)
    for (const [link, path] of mountedNamespaces(tryReadText(`${home}/mountinfo`)))
      add(found, link, `${home}/root${path}`)
  }
  return [...found].map(([inode, path]) => ({ inode, path }))
}

/** Returns the network namespaces that a mount table names, each as `net:[inode]` with where it is mounted. */
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

// The process may have ended meanwhile.
function readLink(path: string): string {
  try {
    return fs.readlinkSync(path)
  } catch {
    return ''
  }
}

function listed(path: string): string[] {
  try {
    return fs.readdirSync(path)
  } catch {
    return []
  }
}

const NAMESPACE = /^net:\[(\d+)\]$/
