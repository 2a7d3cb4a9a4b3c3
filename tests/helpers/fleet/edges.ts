import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CellOfTests, FleetOfTests } from './cells.ts'

/** Returns the client port of a cell's edge. */
export function edgePortOf({ service }: CellOfTests): number {
  const instance = readFileSync(join(service.dataDir, 'instance'), 'utf8').trim()
  const runDir = service.environment['BOXYARD_RUN_DIR'] ?? '/run/boxyard'
  return Number(readFileSync(join(runDir, instance, 'edge/port'), 'utf8'))
}

/** Splits the cells into the owner of a box's record and the others. */
export function splitByOwner(
  fleet: FleetOfTests,
  project: string,
  box: string,
): { owner: CellOfTests; others: CellOfTests[] } {
  const { stdout } = fleet.plane.kubectl('--namespace=boxyard', 'get', 'home', `box.${project}.${box}`, '-o', 'json')
  const { cell } = (JSON.parse(stdout) as { spec: { cell: string } }).spec
  const owner = fleet.cells.find((each) => each.cell === cell)
  if (owner === undefined) throw new Error(`No cell has ${project}/${box}.`)
  return { owner, others: fleet.cells.filter((each) => each !== owner) }
}

/** Returns the owner of each domain that the fleet knows, as `<project>/<box>/<service>`. */
export function domainsOf({ plane }: FleetOfTests): Record<string, string> {
  const { stdout } = plane.kubectl('--namespace=boxyard', 'get', 'domains', '-o', 'json')
  const { items } = JSON.parse(stdout) as { items: { spec: Record<string, string> }[] }
  return Object.fromEntries(
    items.map(({ spec }) => [spec['domain'], `${spec['project']}/${spec['box']}/${spec['service'] ?? ''}`]),
  )
}
