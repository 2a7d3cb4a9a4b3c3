import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { clusterNodes, nodePaths } from '../../../infra/cluster/nodes.ts'
import { type Client, createClient } from '../front/client.ts'
import { type FleetPlane, startFleetPlane } from '../pods/fleet-plane.ts'
import { startService, type TestService, type TestServiceOptions } from '../service.ts'

/** A fleet of real services on this host: their objects are in a real API server and etcd, their boxes are embedded ones. */
export interface FleetOfTests {
  plane: FleetPlane
  /** In the order of their numbers. */
  cells: readonly CellOfTests[]
  /** Takes down the services, then the API server. */
  close(): Promise<void>
}

/** One cell: agent, front, boxes. */
export interface CellOfTests {
  cell: string
  /** Name of its Node. */
  node: string
  service: TestService
  /** A client of its front, the door, with its own administrator's token. */
  client: Client
}

/**
 * Starts a cell for each number, one after the other, and waits until each knows all others. Where they `areApart`, each is on a node
 * with a network of its own, whose link a test may cut.
 */
export async function startFleet(
  numbers: readonly string[] = ['aa', 'bb', 'cc'],
  settings: Record<string, string> = {},
  { areApart = false }: { areApart?: boolean } = {},
): Promise<FleetOfTests> {
  const plane = await startFleetPlane(areApart ? numbers.length : 1)
  const cells: CellOfTests[] = []
  const close = async (): Promise<void> => {
    for (const { service } of cells) await service.close()
    await plane.close()
  }
  try {
    plane.install()
    const places = areApart ? nodesOf(plane) : []
    for (const [index, cell] of numbers.entries()) {
      cells.push(await startCell(plane, { cell, settings, first: cells[0] ?? null, on: places[index] }))
    }
    shareTokens(cells)
    return { plane, cells, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Where a service runs: the address of its node, and the program that starts another one there. */
type Place = NonNullable<TestServiceOptions['on']>

function nodesOf({ record }: FleetPlane): Place[] {
  return clusterNodes(record).map((node) => ({ address: node.address, enter: nodePaths(record.name, node).enter }))
}

interface NewCell {
  cell: string
  settings: Record<string, string>
  first: CellOfTests | null
  /** Undefined: this host. */
  on: Place | undefined
}

async function startCell(plane: FleetPlane, { cell, settings, first, on }: NewCell): Promise<CellOfTests> {
  const node = `node-${cell}`
  const place = { BOXYARD_CELL: cell, BOXYARD_NODE: node, BOXYARD_KUBECONFIG: plane.addNode(node) }
  const service = await startService({
    ...(on === undefined ? {} : { on }),
    settings: { BOXYARD_RUNTIME: 'embedded', BOXYARD_POOL_GB: '0.5', ...place, ...settings },
    prepare: (dataDir) => {
      if (first !== null) copyKeys(first.service.dataDir, dataDir)
    },
  })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  return { cell, node, service, client }
}

function copyKeys(from: string, to: string): void {
  mkdirSync(join(to, 'keys'), { mode: 0o700 })
  for (const file of readdirSync(join(from, 'keys'))) copyFileSync(join(from, 'keys', file), join(to, 'keys', file))
}

/** Has every cell know the tokens of all others. */
function shareTokens(cells: readonly CellOfTests[]): void {
  const open = ({ service }: CellOfTests): DatabaseSync => new DatabaseSync(join(service.dataDir, 'boxyard.db'))
  for (const from of cells) {
    const source = open(from)
    const rows = source
      .prepare('SELECT * FROM tokens')
      .all()
      .map(({ root: _generated, ...row }) => row)
    source.close()
    for (const to of cells) {
      const target = open(to)
      for (const row of rows) {
        const marks = Object.keys(row).map(() => '?')
        const insert = `INSERT OR IGNORE INTO tokens (${Object.keys(row).join()}) VALUES (${marks.join()})`
        target.prepare(insert).run(...Object.values(row))
      }
      target.close()
    }
  }
}
