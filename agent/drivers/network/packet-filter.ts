import type { Logger } from '../../../shared/log.ts'
import { createFilterTable } from './filter-table.ts'
import {
  addCommands,
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
  /** Removes an address; does nothing for an unknown one. */
  remove(address: string): void
  /** Changes which nameservers boxes may ask. */
  setResolvers(resolvers: readonly string[]): void
  /** Reloads the table if it was removed; returns true if so. */
  heal(): boolean
  close(options: { release: boolean }): void
}

/** The settings of the rules, without the entries of boxes and the limits of the host. */
export type FilterRules = Omit<RulesetRequest, 'entries' | 'flowsPerBox'>

export interface PacketFilterOptions {
  rules: FilterRules
  logger: Logger
}

/** Opens the library; `open` then loads the table. Throws `runtime_unavailable` where there is no nftables. */
export function createPacketFilter({ rules, logger }: PacketFilterOptions): PacketFilter {
  const { instance, resolvers } = rules
  const table = createFilterTable<Pick<FilterMember, 'interfaceName' | 'address'>>({
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
