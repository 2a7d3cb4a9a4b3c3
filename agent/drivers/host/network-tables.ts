import fs from 'node:fs'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { run } from '../../lib/run.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** Entries of network namespaces in kernel tables that all namespaces of the host share. */
export interface TableUse {
  /** Entries for ARP and IPv6 neighbours, without permanent ones, which do not count against the table. */
  neighbours: number
  /** Tracked connections. They take about 700 bytes each, which the kernel charges to no cgroup. */
  connections: number
}

/** The state of the shared tables. */
export interface TablesRead {
  /** Maximum of entries in the table of neighbours (`gc_thresh3`). Beyond it no program of the host can resolve an address. */
  neighboursMax: number
  /** `nf_conntrack_max`. The kernel applies it to each namespace separately. */
  connectionsMax: number
  /** The table of neighbours is at three quarters of its limit. */
  isNeighbourTableFull: boolean
  /** If true, one table is at a quarter of its limit, and the agent must find out who owns the entries. */
  isFilling: boolean
}

/** Reads the tables of this host. */
export function readTables(): TablesRead {
  const tables = [neighbourTable('ipv4'), neighbourTable('ipv6')]
  const connectionsMax = Number(tryReadText('/proc/sys/net/netfilter/nf_conntrack_max')) || CONNECTIONS_MAX
  const connections = parseSlab(tryReadText('/proc/slabinfo'), 'nf_conntrack')
  const neighboursMax = Math.min(...tables.map(({ most }) => most))
  return {
    neighboursMax,
    connectionsMax,
    isNeighbourTableFull: tables.some(({ entries, most }) => entries > FULL_PART * most),
    isFilling:
      tables.some(({ entries }) => entries > FILLING_PART * neighboursMax) ||
      connections > FILLING_PART * connectionsMax,
  }
}

/** Returns how many neighbours the host remembers, in all its namespaces but without the links of boxes, and the maximum (`gc_thresh3`). */
export function neighbourTable(family: 'ipv4' | 'ipv6'): { entries: number; most: number } {
  const most = Number(tryReadText(`/proc/sys/net/${family}/neigh/default/gc_thresh3`)) || NEIGHBOURS_MAX
  const entries = parseTableEntries(tryReadText(`/proc/net/stat/${family === 'ipv4' ? 'arp' : 'ndisc'}_cache`))
  if (family === 'ipv6') return { entries, most }
  // Each box has a permanent entry at either end of its link.
  const permanent = 2 * fs.readdirSync('/sys/class/net').filter((name) => name.startsWith('bx')).length
  return { entries: Math.max(0, entries - permanent), most }
}

/** A network namespace, and a path that led to it. A box may have put another file there since. */
export interface NamespacePlace {
  inode: number
  path: string
}

/** Open network namespaces, which exist until `close`. */
export class HeldNamespaces {
  readonly #fds: readonly number[]

  /** Leaves out namespaces that are gone. */
  constructor(places: readonly NamespacePlace[]) {
    this.#fds = places.flatMap((place) => openNamespace(place) ?? [])
  }

  /** Counts their entries. */
  async use(): Promise<TableUse> {
    const sum = { neighbours: 0, connections: 0 }
    for (const text of await this.#runEach(COUNT)) {
      const [neighbours = '', connections = ''] = text.split('\n\n')
      sum.neighbours += Number(neighbours) || 0
      sum.connections += parseTableEntries(connections)
    }
    return sum
  }

  /**
   * Takes their links down, which removes their neighbours. A packet that waits for a neighbour keeps its namespace and the entry, for as
   * long as the box has set, even once no process is left.
   */
  async takeDown(): Promise<void> {
    await this.#runEach(TAKE_DOWN)
  }

  close(): void {
    for (const fd of this.#fds) fs.closeSync(fd)
  }

  async #runEach(script: string): Promise<string[]> {
    const texts: string[] = []
    for (const fd of this.#fds) {
      const enter = [`--net=/proc/${process.pid}/fd/${fd}`, '--', 'sh', '-c', script]
      texts.push((await run('nsenter', enter, { timeoutMs: SCRIPT_MS })).stdout)
    }
    return texts
  }
}

// Opens no file itself, so that it touches no device or pipe at the path.
function openNamespace({ inode, path }: NamespacePlace): number | null {
  try {
    const fd = fs.openSync(path, O_PATH)
    const { ino, dev } = fs.fstatSync(fd)
    if (ino === inode && dev === fs.statSync('/proc/self/ns/net').dev) return fd
    fs.closeSync(fd)
    return null
  } catch (error) {
    if (isErrno(error, 'ENOENT', 'ESRCH', 'ENOTDIR', 'EACCES', 'ELOOP')) return null
    throw error
  }
}

/** Parses the number of entries in a file of /proc/net/stat: hexadecimal, the first of its second line. */
export function parseTableEntries(text: string): number {
  return Number.parseInt(text.split('\n')[1] ?? '', 16) || 0
}

/** Parses the number of objects of a cache in /proc/slabinfo, or returns 0 if it has none. */
export function parseSlab(slabInfo: string, cache: string): number {
  const line = slabInfo.split('\n').find((each) => each.startsWith(`${cache} `))
  return Number(line?.split(/\s+/)[1]) || 0
}

const O_PATH = 0o10000000
const NEIGHBOURS_MAX = 1_024
const CONNECTIONS_MAX = 65_536
const FILLING_PART = 0.25
const FULL_PART = 0.75
const COUNT = 'ip -o neigh show | grep -vc PERMANENT; echo; cat /proc/self/net/stat/nf_conntrack 2>/dev/null'
const TAKE_DOWN = `ip -o link show | sed 's/^[0-9]*: \\([^:@]*\\).*/\\1/' | while read -r name; do ip link set dev "$name" down; done`
const SCRIPT_MS = 5_000
