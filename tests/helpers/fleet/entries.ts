import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import type { Directory, Home } from '../../../agent/ports/fleet/directory.ts'
import { createCellLinks } from '../../../agent/server/cell-links.ts'
import { createEntry, type Entry } from '../../../agent/server/entry.ts'
import { createOwnerFinder } from '../../../agent/server/owner-cell.ts'
import { createSenderCheck } from '../../../shared/auth/channel.ts'
import type { ChannelKeySet } from '../../../shared/auth/keys.ts'
import { createBodyBudget } from '../../../shared/http/body-budget.ts'
import { matchOperation } from '../../../shared/match.ts'
import { silentLogger } from '../silent-logger.ts'
import { homeKey, tableCell } from './table-directory.ts'

/** The entry of a cell, over a directory of which it remembers what the test says. */
export interface TestEntry extends Entry {
  /** What the cell remembers of names; where it remembers nothing, it reads. */
  memory: Map<string, string>
  /** Names it has read from the directory, in order. */
  reads: string[]
  /** Awaited by each read, before it answers. */
  beforeRead: () => Promise<void>
}

/** A fleet of entries whose directory is a table of the test. */
export interface TestFleet {
  /** The cell of each name (`box demo/web`), as the directory has it. */
  homes: Map<string, string>
  /** Base URL of the channel of each cell. */
  urls: Map<string, string>
  /** Makes the entry of a cell. */
  entryOf(cell: string): TestEntry
}

export function makeFleet(keys: ChannelKeySet): TestFleet {
  const homes: TestFleet['homes'] = new Map()
  const urls: TestFleet['urls'] = new Map()
  return {
    homes,
    urls,
    entryOf: (cell) => {
      const memory: TestEntry['memory'] = new Map()
      const reads: string[] = []
      const directory: Directory = {
        cell,
        find: (name) => homeAt(memory.get(homeKey(name))),
        read: async (name) => {
          reads.push(homeKey(name))
          await made.beforeRead()
          return homeAt(homes.get(homeKey(name)))
        },
        findCell: (found) => {
          const channelUrl = urls.get(found)
          return channelUrl === undefined ? null : tableCell(found, channelUrl)
        },
        cells: () => [...urls].filter(([each]) => each !== cell).map(([each, url]) => tableCell(each, url)),
        claim: () => Promise.reject(new Error('nothing is made here')),
        release: () => Promise.reject(new Error('nothing is deleted here')),
        bases: createLocalDirectory().bases,
      }
      const entry = createEntry({
        directory,
        owners: createOwnerFinder({ directory, match: matchOperation, hasRecord: async () => false }),
        links: createCellLinks({ tls: null }),
        checkSender: createSenderCheck({ keys: () => keys.keys, agentId: keys.agent_id, now: Date.now }),
        bodies: createBodyBudget(64 * 1024 * 1024),
        logger: silentLogger,
        now: Date.now,
      })
      const made: TestEntry = { ...entry, memory, reads, beforeRead: async () => undefined }
      return made
    },
  }
}

function homeAt(cell: string | undefined): Home | null {
  return cell === undefined ? null : { cell, epoch: 1, phase: 'Live', createdBy: null }
}
