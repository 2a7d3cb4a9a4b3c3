import type { Logger } from '../../../shared/log.ts'
import { createFilterTable } from './filter-table.ts'
import {
  addCommands,
  type FilterEntry,
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
  /** As in `AddressedBox`. */
  mbps: number | null
  /** As in `FilterEntry`. */
  nameServer: string | null
}

/** One instance's table in the kernel's packet filter. Memory and kernel agree after each call that does not throw. */
export interface PacketFilter {
  /**
   * Loads the table. Keeps the entries of an earlier process's table for interfaces that `isLive` accepts, so that running boxes keep their
   * connections until they are added again.
   */
  open(isLive: (interfaceName: string) => boolean): void
  /**
   * Adds a box. An adopted box keeps the marks that the earlier process's table has for its address. A new box never gets those marks,
   * since they may admit it to another project.
   */
  add(member: FilterMember, isAdopted: boolean): void
  /** Limits the rate at which a box sends and receives, in Mbit/s. Does nothing for an unknown address. */
  limit(address: string, mbps: number | null): void
  /** Removes an address. Does nothing for an unknown one. */
  remove(address: string): void
  /** Replaces the nameservers that boxes may query. */
  setResolvers(resolvers: readonly string[]): void
  /** Reloads the table if another program removed it, and then returns true. */
  heal(): boolean
  close(options: { release: boolean }): void
}

/** Settings of the rules, without the entries of boxes and the limits of the host. */
export type FilterRules = Omit<RulesetRequest, 'entries' | 'flowsPerBox'>

export interface PacketFilterOptions {
  rules: FilterRules
  logger: Logger
}

/** Opens the library. `open` then loads the table. Throws `runtime_unavailable` without nftables. */
export function createPacketFilter({ rules, logger }: PacketFilterOptions): PacketFilter {
  const { instance, resolvers } = rules
  const table = createFilterTable<
    Omit<FilterMember, 'project' | 'mbps' | 'nameServer'> & Pick<FilterEntry, 'nameServer'>
  >({
    text: {
      name: tableName(instance),
      load: (entries, load) => rulesetCommands({ ...rules, ...load, entries }),
      add: (entry) => addCommands(instance, entry),
      remove: (entry) => removeCommands(instance, entry),
      parse: parseEntries,
    },
    resolvers,
    logger,
  })
  return {
    ...table,
    open: (isLive) => table.open(({ interfaceName }) => isLive(interfaceName)),
    add: ({ project, ...box }, isAdopted) => table.add(box, { project, isAdopted }),
  }
}
