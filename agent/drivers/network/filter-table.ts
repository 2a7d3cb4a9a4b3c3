import { randomInt } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { type Nftables, openNftables } from '../../lib/syscalls/nftables.ts'
import { trackedConnections } from './host.ts'
import { flowsPerBox } from './nft-rules.ts'
import type { AddressedBox, BoxMarks, TableLoad } from './nft-table.ts'

/** Text form of a table of family `inet`: nft commands that write boxes, and a parser of its listing. */
export interface TableText<Box extends AddressedBox> {
  name: string
  /** Returns the commands that replace the whole table as one transaction. */
  load(entries: readonly (Box & BoxMarks)[], load: TableLoad): string
  add(entry: Box & BoxMarks): string
  remove(entry: Box & BoxMarks): string
  /** Parses the boxes of a table from nft's JSON listing. */
  parse(listing: string): (Box & BoxMarks)[]
}

/** A table in the kernel's packet filter. Memory and kernel agree after each call that does not throw. */
export interface FilterTable<Box extends AddressedBox> {
  /**
   * Loads the table. Keeps the entries of an earlier process's table for boxes that `isLive` accepts, so that running boxes keep their
   * connections until they are added again.
   */
  open(isLive: (box: Box) => boolean): void
  /**
   * Adds a box. An adopted box keeps the marks that the earlier process's table has for its address. A new box never gets those marks,
   * since they may admit it to another project.
   */
  add(box: Box, admission: { project: string; isAdopted: boolean }): void
  /** Limits the rate at which a box sends and receives, as `AddressedBox.mbps`. Does nothing for an unknown address. */
  limit(address: string, mbps: number | null): void
  /** Removes an address. Does nothing for an unknown one. */
  remove(address: string): void
  /** Replaces the nameservers that boxes may query. */
  setResolvers(resolvers: readonly string[]): void
  /** Reloads the table if another program removed it, and then returns true. */
  heal(): boolean
  close(options: { release: boolean }): void
}

export interface FilterTableOptions<Box extends AddressedBox> {
  text: TableText<Box>
  resolvers: readonly string[]
  logger: Logger
}

/** Opens the library. `open` then loads the table. Throws `runtime_unavailable` without nftables. */
export function createFilterTable<Box extends AddressedBox>(options: FilterTableOptions<Box>): FilterTable<Box> {
  const { text, logger } = options
  const nft = guarded('open the packet filter', () => openNftables())
  const entries = new Map<string, Box & BoxMarks>()
  const projects = createProjectMarks()
  let { resolvers } = options

  const load = (): void =>
    loadTable(nft, (flows) => text.load([...entries.values()], { flowsPerBox: flows, resolvers }))
  const change = (commands: readonly string[]): void => {
    try {
      nft.run(commands.join('\n'))
    } catch (error) {
      // Reloads the table from memory, because another program flushed or edited it in the kernel.
      logger.warn('another program changed the packet filter, loading it again', { error })
      load()
    }
  }

  const put = entryWriter(text, entries, change)
  return {
    open(isLive) {
      for (const entry of text.parse(listTable(text.name))) {
        if (isLive(entry)) entries.set(entry.address, entry)
      }
      projects.inherit([...entries.values()])
      load()
    },
    add(box, { project, isAdopted }) {
      const { address } = box
      const before = entries.get(address)
      const kept = isAdopted ? before : undefined
      const { projectMark, rejoinEarlier } = projects.join(project, address, kept?.projectMark)
      const entry = { ...box, projectMark, epoch: kept?.epoch ?? randomInt(1, EPOCH_END) }
      if (isDeepStrictEqual(before, entry)) return
      try {
        put(address, entry)
      } catch (error) {
        rejoinEarlier()
        throw error
      }
    },
    limit(address, mbps) {
      const before = entries.get(address)
      if (!before || (before.mbps ?? null) === mbps) return
      put(address, { ...before, mbps })
    },
    remove(address) {
      if (!entries.has(address)) return
      put(address, undefined)
      projects.leave(address)
    },
    setResolvers(addresses) {
      resolvers = addresses
      load()
    },
    heal() {
      const isMissing = !hasTable(nft, text.name)
      if (isMissing) load()
      return isMissing
    },
    close({ release }) {
      if (release) removeTable(nft, text.name)
      nft.close()
    },
  }
}

/** Returns a function that replaces an address's own entry, with undefined to remove it. The function changes nothing if it throws. */
function entryWriter<Box extends AddressedBox>(
  text: TableText<Box>,
  entries: Map<string, Box & BoxMarks>,
  change: (commands: readonly string[]) => void,
): (address: string, entry: (Box & BoxMarks) | undefined) => void {
  return (address, entry) => {
    const before = entries.get(address)
    setEntry(entries, address, entry)
    try {
      change([...(before ? [text.remove(before)] : []), ...(entry ? [text.add(entry)] : [])])
    } catch (error) {
      setEntry(entries, address, before)
      throw error
    }
  }
}

function setEntry<Entry>(entries: Map<string, Entry>, address: string, entry: Entry | undefined): void {
  if (entry === undefined) entries.delete(address)
  else entries.set(address, entry)
}

function loadTable(nft: Nftables, commandsFor: (flowsPerBox: number) => string): void {
  const connections = trackedConnections()
  guarded('load the packet filter', () => nft.run(commandsFor(flowsPerBox(connections?.max ?? 0))))
  // The kernel starts to track connections and exposes its maximum only with the first conntrack rule, so load again with that limit.
  if (connections === null && trackedConnections() !== null) loadTable(nft, commandsFor)
}

function hasTable(nft: Nftables, name: string): boolean {
  const tables = guarded('list the packet filter', () => nft.run('list tables inet'))
  return tables.split('\n').includes(`table inet ${name}`)
}

function removeTable(nft: Nftables, name: string): void {
  const table = `inet ${name}`
  guarded('remove the packet filter', () => nft.run(`add table ${table}\ndelete table ${table}`))
}

/** Returns the table as JSON, or an empty text if there is none. */
function listTable(name: string): string {
  let nft: Nftables | undefined
  try {
    nft = openNftables({ json: true })
    return nft.run(`list table inet ${name}`)
  } catch {
    return ''
  } finally {
    nft?.close()
  }
}

interface ProjectMarks {
  inherit(entries: readonly BoxMarks[]): void
  /** Moves an address into a project. `rejoinEarlier` moves it back into its earlier one, with that one's mark, or into none. */
  join(project: string, address: string, wanted: number | undefined): JoinedProject
  leave(address: string): void
}

interface JoinedProject {
  projectMark: number
  rejoinEarlier(): void
}

/** Assigns marks to projects. Two projects never share a mark, and no new project gets a mark of an earlier process. */
function createProjectMarks(): ProjectMarks {
  const marks = new Map<string, number>()
  const members = new Map<string, string>()
  let next = 1
  const drop = (project: string | undefined): void => {
    if (project !== undefined && ![...members.values()].includes(project)) marks.delete(project)
  }
  const leave = (address: string): void => {
    const project = members.get(address)
    members.delete(address)
    drop(project)
  }
  return {
    inherit(entries) {
      next = Math.max(next, ...entries.map(({ projectMark }) => projectMark + 1))
    },
    join(project, address, wanted) {
      const isFree = wanted !== undefined && ![...marks.values()].includes(wanted)
      const projectMark = marks.get(project) ?? (isFree ? wanted : next++)
      const earlier = members.get(address)
      const earlierMark = earlier === undefined ? undefined : marks.get(earlier)
      marks.set(project, projectMark)
      members.set(address, project)
      // Last, so that the address does not take the mark of its earlier project along.
      drop(earlier)
      const rejoinEarlier = (): void => {
        leave(address)
        if (earlier === undefined || earlierMark === undefined) return
        members.set(address, earlier)
        marks.set(earlier, earlierMark)
      }
      return { projectMark, rejoinEarlier }
    },
    leave,
  }
}

function guarded<T>(what: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const detail = `Cannot ${what}. Install nftables (libnftables1) and a kernel with nf_tables, and run as root.`
    throw new ServiceError('runtime_unavailable', detail, { cause })
  }
}

const EPOCH_END = 0x7fff_ffff
