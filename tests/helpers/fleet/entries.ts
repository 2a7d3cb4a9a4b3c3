import { createLocalDirectory } from '../../../agent/drivers/fleet/directory-local.ts'
import { viewBoxCard } from '../../../agent/handlers/boxes/card-view.ts'
import type { BaseName, FleetBase } from '../../../agent/ports/fleet/bases.ts'
import type { Cell, Directory, Home, KeptHome } from '../../../agent/ports/fleet/directory.ts'
import { type CardsDeps, createCards } from '../../../agent/server/away-cards.ts'
import { createCellAsks } from '../../../agent/server/cells/cell-asks.ts'
import { createCellLinks } from '../../../agent/server/cells/cell-links.ts'
import { createCellPatience } from '../../../agent/server/cells/cell-patience.ts'
import type { TurnedDirectory } from '../../../agent/server/cells/directory-reads.ts'
import { createEntry, type Entry } from '../../../agent/server/entry.ts'
import { gatherOverCells } from '../../../agent/server/gather.ts'
import { createOwnerFinder } from '../../../agent/server/owner-cell.ts'
import { createPassCheck } from '../../../agent/server/pass-check.ts'
import { createProcessorTurns } from '../../../agent/server/processor-turns.ts'
import type { RequestHead } from '../../../agent/server/trust.ts'
import { createSenderCheck, createSigner } from '../../../shared/auth/channel.ts'
import type { ChannelKeySet } from '../../../shared/auth/keys.ts'
import { ServiceError } from '../../../shared/errors.ts'
import { createBodyBudget } from '../../../shared/http/body-budget.ts'
import { givenRequestId, problemResponse } from '../../../shared/http/messages.ts'
import { createLineBudget } from '../../../shared/log-budget.ts'
import { matchOperation } from '../../../shared/match.ts'
import { silentLogger } from '../silent-logger.ts'
import { homeKey, tableCell } from './table-directory.ts'

/** A cell's router. The test sets the part of the directory that the cell remembers. */
export interface TestEntry extends Entry {
  /** Names that the cell remembers. It reads other names from the directory. */
  memory: Map<string, string>
  /** Names that the router has read from the directory, in order. */
  reads: string[]
  /** Account of each read, in the same order. */
  readers: (string | undefined)[]
  /** Owners of the requests for which the router asked other cells or the directory, in order. */
  noted: string[]
  /** Each read awaits this before it answers. */
  beforeRead: () => Promise<void>
}

/** A fleet of routers over a directory that is a table of the test. */
export interface TestFleet {
  /** The cell of each name in the directory. A key is like `box demo/web`. */
  homes: Map<string, string>
  /** Base URL of the channel of each cell. */
  urls: Map<string, string>
  /** Records of names in the directory. Gateways answer from them for a cell that is away. */
  kept: KeptHome[]
  isDirectoryAway: boolean
  /** Throws for a revoked token. By default, no token is revoked. */
  checkAlive: (tokenId: string) => void
  /** The cell that made each base, by the base's name. */
  makers: Map<string, string>
  /** Creates the router of a cell. */
  entryOf(cell: string): TestEntry
}

function baseAt(ref: BaseName, cell: string | undefined): FleetBase | null {
  return cell === undefined
    ? null
    : { ...ref, uid: 'bas_1', version: 1, cell, source: 'tar', createdAt: 1, createdBy: null }
}

export function makeFleet(keys: ChannelKeySet): TestFleet {
  const homes: TestFleet['homes'] = new Map()
  const urls: TestFleet['urls'] = new Map()
  const kept: TestFleet['kept'] = []
  const makers: TestFleet['makers'] = new Map()
  const fleet: TestFleet = {
    homes,
    kept,
    isDirectoryAway: false,
    checkAlive: () => undefined,
    ...{ makers, urls },
    entryOf: (cell) => {
      const memory: TestEntry['memory'] = new Map()
      const [reads, noted]: [string[], string[]] = [[], []]
      const readers: TestEntry['readers'] = []
      const directory: TurnedDirectory = {
        cell,
        find: (name) => homeAt(memory.get(homeKey(name))),
        read: async (name, account) => {
          reads.push(homeKey(name))
          readers.push(account)
          await made.beforeRead()
          return homeAt(homes.get(homeKey(name)))
        },
        findCell: (found) => {
          const channelUrl = urls.get(found)
          return channelUrl === undefined ? null : cellAt(found, channelUrl)
        },
        cells: () => [...urls].filter(([each]) => each !== cell).map(([each, url]) => cellAt(each, url)),
        homeCells: () => [...new Set(memory.values())],
        readKept: async (name) => (await readKept()).find((home) => homeKey(home) === homeKey(name)) ?? null,
        homesOf: async function* ({ cell: asked, kind, project }) {
          const isAsked = (home: KeptHome): boolean =>
            home.cell === asked && home.kind === kind && home.project === (project ?? home.project)
          for (const home of await readKept()) if (isAsked(home)) yield [home]
        },
        onChange: () => () => undefined,
        claim: () => Promise.reject(new Error('nothing is made here')),
        release: () => Promise.reject(new Error('nothing is deleted here')),
        bases: { ...createLocalDirectory().bases, find: (ref) => baseAt(ref, makers.get(ref.name)) },
      }
      const shared = {
        ...{ ...askingOf(keys, directory), directory, match: matchOperation },
        refuse: async ({ headers }: RequestHead, error: unknown) =>
          problemResponse(error, givenRequestId(headers) ?? 'req_none'),
        cards: createCards({ directory, match: matchOperation, viewBox: viewTestCard }),
        mayPass: createPassCheck({
          checkSender: createSenderCheck({ keys: () => keys.keys, agentId: keys.agent_id, now: Date.now }),
          checkAlive: async (id) => fleet.checkAlive(id),
          note: (owner) => noted.push(owner),
        }),
        turns: createProcessorTurns(),
      }
      const entry = createEntry({
        ...shared,
        owners: createOwnerFinder({ directory, match: matchOperation, hasRecord: async () => false }),
        bodies: createBodyBudget(64 * 1024 * 1024),
      })
      const wrap: Entry['wrap'] = (here) => entry.wrap(gatherOverCells(here, shared))
      const made: TestEntry = { ...entry, wrap, memory, reads, readers, noted, beforeRead: async () => undefined }
      return made
    },
  }
  const readKept = async (): Promise<KeptHome[]> => {
    if (fleet.isDirectoryAway) throw new ServiceError('runtime_unavailable', 'The directory is away.')
    return kept
  }
  return fleet
}

/** Creates the peer client, which sends requests to other cells. */
function askingOf(keys: ChannelKeySet, directory: Directory) {
  const sign = createSigner({ keys: () => keys.keys, agentId: () => keys.agent_id, now: Date.now })
  const links = createCellLinks({ tls: null })
  const lines = createLineBudget({ now: Date.now })
  const patience = createCellPatience({ now: () => performance.now() })
  const parts = { links, lines, patience, logger: silentLogger }
  return { ...parts, asks: createCellAsks({ ...parts, directory, sign }) }
}

/** Returns the directory's record of a box, for `TestFleet.kept`. */
export function keptBox(name: string, cell: string, project = 'demo'): KeptHome {
  const config = {
    cpus: 1,
    ram_mb: 64,
    region: 'local',
    storage_gb: 1,
    network_mbps: null,
    disk_mbps: null,
    disk_iops: null,
  }
  const card = {
    createdAt: 1_000,
    base: 'busybox',
    forkOf: null,
    port: null,
    storageGb: 1,
    config: { ...config, nesting: false, shm_mb: null, core_dumps: false },
  }
  return { kind: 'box', project, name, uid: `box_${name.padStart(26, '0')}`, cell, card }
}

const viewTestCard: CardsDeps['viewBox'] = (home, cell) =>
  viewBoxCard(home, cell, { address: { domain: 'box.test', scheme: 'http', port: null }, gracePeriodSeconds: 10 })

/** Returns a cell that has reported once. */
function cellAt(cell: string, channelUrl: string): Cell {
  return { ...tableCell(cell, channelUrl), heartbeatAt: 1_000 }
}

function homeAt(cell: string | undefined): Home | null {
  return cell === undefined ? null : { cell, epoch: 1, phase: 'Live', createdBy: null }
}
