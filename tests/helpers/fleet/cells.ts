import { type Client, createClient } from '../front/client.ts'
import { type FleetPlane, startFleetPlane } from '../pods/fleet-plane.ts'
import { startService, type TestService } from '../service.ts'

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
 * Starts a cell for each number, all at once, so that they race for whose keys become those of the fleet; `agentScript` as that of
 * `startService`.
 */
export async function startFleet(
  numbers: readonly string[] = ['aa', 'bb', 'cc'],
  settings: Record<string, string> = {},
  agentScript?: string,
): Promise<FleetOfTests> {
  const plane = await startFleetPlane()
  let cells: CellOfTests[] = []
  const close = async (): Promise<void> => {
    for (const { service } of cells) await service.close()
    await plane.close()
  }
  try {
    plane.install()
    const outcomes = await Promise.allSettled(numbers.map((cell) => startCell(plane, { cell, settings, agentScript })))
    cells = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    return { plane, cells, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function startCell(
  plane: FleetPlane,
  { cell, settings, agentScript }: { cell: string; settings: Record<string, string>; agentScript: string | undefined },
): Promise<CellOfTests> {
  const node = `node-${cell}`
  const place = { BOXYARD_CELL: cell, BOXYARD_NODE: node, BOXYARD_KUBECONFIG: plane.addNode(node) }
  const service = await startService({
    settings: { BOXYARD_RUNTIME: 'embedded', BOXYARD_POOL_GB: '0.5', ...place, ...settings },
    ...(agentScript === undefined ? {} : { agentScript }),
  })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  return { cell, node, service, client }
}
