import { randomInt } from 'node:crypto'
import { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { type Nftables, openNftables } from '../lib/syscalls-nftables.ts'
import { trackedConnections } from './network-host.ts'
import {
  addCommands,
  type FilterEntry,
  flowsPerBox,
  parseEntries,
  type RulesetRequest,
  removeCommands,
  rulesetCommands,
  tableName,
} from './nft-rules.ts'

/** A box that the packet filter lets through to its project and, if configured, to the outside. */
export interface FilterMember {
  project: string
  interfaceName: string
  address: string
}

/** One instance's table in the kernel's packet filter; memory and kernel agree after each call, or it threw. */
export interface PacketFilter {
  /**
   * Loads the table. What a table of an earlier process lets through stays so, for the interfaces that `isLive` knows:
   * running boxes keep their connections until they are added again.
   */
  open(isLive: (interfaceName: string) => boolean): void
  /**
   * Lets a box through. An adopted one keeps the numbers that the table of the earlier process has for its address;
   * a new one never gets them: they may let it through to another project.
   */
  add(member: FilterMember, isAdopted: boolean): void
  /** Shuts an address off; an unknown one is a success. */
  remove(address: string): void
  /** Changes which nameservers boxes may ask. */
  setResolvers(resolvers: readonly string[]): void
  /** Loads the table again if somebody removed it; true if it was missing. */
  heal(): boolean
  close(options: { release: boolean }): void
}

/** What the rules say, but for what the host and its boxes make of it. */
export type FilterRules = Omit<RulesetRequest, 'entries' | 'flowsPerBox'>

export interface PacketFilterOptions {
  rules: FilterRules
  logger: Logger
}

/** Opens the library; `open` then loads the table. Throws `runtime_unavailable` where there is no nftables. */
export function createPacketFilter({ rules, logger }: PacketFilterOptions): PacketFilter {
  const nft = guarded('open the packet filter', () => openNftables())
  const entries = new Map<string, FilterEntry>()
  const projects = createProjectMarks()
  let settings = rules

  const load = (): void => loadTable(nft, settings, [...entries.values()])
  const change = (commands: readonly string[]): void => {
    try {
      nft.run(commands.join('\n'))
    } catch (error) {
      // The kernel's table is not what it was left as: somebody flushed or edited it. Memory is the truth.
      logger.warn('packet filter was changed by another program; loading it again', { error })
      load()
    }
  }

  return {
    open(isLive) {
      for (const entry of inheritedEntries(settings.instance)) {
        if (isLive(entry.interfaceName)) entries.set(entry.address, entry)
      }
      projects.inherit([...entries.values()])
      load()
    },
    add({ project, interfaceName, address }, isAdopted) {
      const before = entries.get(address)
      const kept = isAdopted ? before : undefined
      const projectMark = projects.join(project, address, kept?.projectMark)
      const entry: FilterEntry = { interfaceName, address, projectMark, epoch: kept?.epoch ?? randomInt(1, EPOCH_END) }
      if (isSame(before, entry)) return
      entries.set(address, entry)
      try {
        change([...(before ? [removeCommands(settings.instance, before)] : []), addCommands(settings.instance, entry)])
      } catch (error) {
        entries.delete(address)
        projects.leave(address)
        throw error
      }
    },
    remove(address) {
      const entry = entries.get(address)
      if (!entry) return
      entries.delete(address)
      try {
        change([removeCommands(settings.instance, entry)])
      } catch (error) {
        entries.set(address, entry)
        throw error
      }
      projects.leave(address)
    },
    setResolvers(resolvers) {
      settings = { ...settings, resolvers }
      load()
    },
    heal() {
      const isMissing = !hasTable(nft, settings.instance)
      if (isMissing) load()
      return isMissing
    },
    close({ release }) {
      if (release) removeTable(nft, settings.instance)
      nft.close()
    },
  }
}

function loadTable(nft: Nftables, rules: FilterRules, entries: readonly FilterEntry[]): void {
  const connections = trackedConnections()
  const text = rulesetCommands({ ...rules, flowsPerBox: flowsPerBox(connections?.max ?? 0), entries })
  guarded('load the packet filter', () => nft.run(text))
  // The first rules about connections make the kernel track them, and only then tell how many it can remember.
  if (connections === null && trackedConnections() !== null) loadTable(nft, rules, entries)
}

function hasTable(nft: Nftables, instance: number): boolean {
  const tables = guarded('list the packet filter', () => nft.run('list tables inet'))
  return tables.split('\n').includes(`table inet ${tableName(instance)}`)
}

function removeTable(nft: Nftables, instance: number): void {
  const table = `inet ${tableName(instance)}`
  guarded('remove the packet filter', () => nft.run(`add table ${table}\ndelete table ${table}`))
}

interface ProjectMarks {
  inherit(entries: readonly FilterEntry[]): void
  join(project: string, address: string, wanted: number | undefined): number
  leave(address: string): void
}

/** Numbers projects. Two projects never share a number, and a number of an earlier process is not given to another project. */
function createProjectMarks(): ProjectMarks {
  const marks = new Map<string, number>()
  const members = new Map<string, string>()
  let next = 1
  return {
    inherit(entries) {
      next = Math.max(next, ...entries.map(({ projectMark }) => projectMark + 1))
    },
    join(project, address, wanted) {
      const isFree = wanted !== undefined && ![...marks.values()].includes(wanted)
      const mark = marks.get(project) ?? (isFree ? wanted : next++)
      marks.set(project, mark)
      members.set(address, project)
      return mark
    },
    leave(address) {
      const project = members.get(address)
      members.delete(address)
      if (project !== undefined && ![...members.values()].includes(project)) marks.delete(project)
    },
  }
}

function isSame(one: FilterEntry | undefined, other: FilterEntry): boolean {
  return (
    one?.interfaceName === other.interfaceName && one.projectMark === other.projectMark && one.epoch === other.epoch
  )
}

function inheritedEntries(instance: number): FilterEntry[] {
  let nft: Nftables | undefined
  try {
    nft = openNftables({ json: true })
    return parseEntries(nft.run(`list table inet ${tableName(instance)}`))
  } catch {
    // No table: nothing is inherited.
    return []
  } finally {
    nft?.close()
  }
}

function guarded<T>(what: string, work: () => T): T {
  try {
    return work()
  } catch (cause) {
    const detail = `Cannot ${what}: install nftables (libnftables1) and a kernel with nf_tables, and run as root.`
    throw new ServiceError('runtime_unavailable', detail, { cause })
  }
}

const EPOCH_END = 0x7fff_ffff
