import { clusterNodes, nodePaths } from '../../../infra/cluster/nodes.ts'
import { untilSucceeds } from '../eventually.ts'
import { type Client, createClient } from '../front/client.ts'
import { type FleetPlane, startFleetPlane } from '../pods/fleet-plane.ts'
import { startService, type TestService, type TestServiceOptions } from '../service.ts'

/** A fleet of real services on this host. They store objects in a real API server and etcd. Their boxes use the embedded runtime. */
export interface FleetOfTests {
  plane: FleetPlane
  /** One for each number passed to `startFleet`, in the same order. */
  cells: readonly CellOfTests[]
  /** Closes the services, then the API server. */
  close(): Promise<void>
}

/** One cell with its agent, its front and its boxes. */
export interface CellOfTests {
  cell: string
  /** Name of its Node. */
  node: string
  service: TestService
  /** A client of the cell's front, which is a gateway. It uses the cell's own administrator token. */
  client: Client
}

/**
 * Starts a cell for each number. All start at once, so that they race to set the keys of the fleet. With `areApart`, each cell runs on a
 * node with its own network, whose link a test can cut. Passes `agentScript` to `startService`.
 */
export async function startFleet(
  numbers: readonly string[] = ['aa', 'bb', 'cc'],
  settings: Record<string, string> = {},
  { areApart = false, agentScript }: { areApart?: boolean; agentScript?: string } = {},
): Promise<FleetOfTests> {
  const plane = await startFleetPlane(areApart ? numbers.length : 1)
  let cells: CellOfTests[] = []
  const close = async (): Promise<void> => {
    for (const { service } of cells) await service.close()
    await plane.close()
  }
  try {
    plane.install()
    const places = areApart ? nodesOf(plane) : []
    const start = (cell: string, index: number) => startCell(plane, { cell, settings, on: places[index], agentScript })
    const outcomes = await Promise.allSettled(numbers.map(start))
    cells = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    for (const { client } of cells) await untilSucceeds(() => checkKnows(client, numbers))
    return { plane, cells, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** Checks that a gateway knows all cells, and that the fleet knows its cell. A slow cluster can take longer than an agent waits for it. */
async function checkKnows(client: Client, numbers: readonly string[]): Promise<void> {
  const { body: health } = await client.get('/healthz')
  const codes = health.problems.map(({ code }: { code: string }) => code)
  if (codes.includes('fleet_untold')) throw new Error(`A cell is not known: ${JSON.stringify(health.problems)}`)
  const { status, text, body } = await client.get('/v1/storage')
  const known = status === 200 ? (body.cells ?? []).map(({ cell }: { cell: string }) => cell) : []
  if (numbers.length > 1 && numbers.some((cell) => !known.includes(cell)))
    throw new Error(`A door does not know all cells: ${text}`)
}

/** Address of the node where a service runs, and the program that starts other programs there. */
type Place = NonNullable<TestServiceOptions['on']>

function nodesOf({ record }: FleetPlane): Place[] {
  return clusterNodes(record).map((node) => ({ address: node.address, enter: nodePaths(record.name, node).enter }))
}

interface NewCell {
  cell: string
  settings: Record<string, string>
  /** Undefined for this host. */
  on: Place | undefined
  agentScript: string | undefined
}

async function startCell(plane: FleetPlane, { cell, settings, on, agentScript }: NewCell): Promise<CellOfTests> {
  const node = `node-${cell}`
  const place = {
    BOXYARD_CELL: cell,
    BOXYARD_CELL_EDGE_PORT: '0',
    BOXYARD_NODE: node,
    BOXYARD_KUBECONFIG: plane.addNode(node),
  }
  const service = await startService({
    ...(on === undefined ? {} : { on }),
    settings: { BOXYARD_RUNTIME: 'embedded', BOXYARD_POOL_GB: '0.5', ...place, ...settings },
    ...(agentScript === undefined ? {} : { agentScript }),
  })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  return { cell, node, service, client }
}
