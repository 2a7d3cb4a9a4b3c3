import { isIP } from 'node:net'
import { createBuckets } from '../../../shared/buckets.ts'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import type { HealthFault } from '../../../shared/schemas/health.ts'
import type { CellEdge, Edge } from '../../ports/edge/edge.ts'
import type { Prober } from '../../ports/edge/prober.ts'
import type { Directory, Home, HomeName } from '../../ports/fleet/directory.ts'
import type { Domains } from '../../ports/fleet/domains.ts'
import type { Clock } from '../../ports/host/clock.ts'
import { boxOfHost, type EdgeAddress } from '../common/urls.ts'
import type { EdgeRoutes } from './routes.ts'

export interface LeadsDeps {
  directory: Pick<Directory, 'cell' | 'find' | 'read' | 'findCell' | 'onChange'>
  domains: Pick<Domains, 'find' | 'read' | 'onChange'>
  hosts: Pick<EdgeRoutes, 'has'>
  edge: Pick<Edge, 'lead'>
  address: EdgeAddress
  prober: Prober
  clock: Clock
  logger: Logger
}

/** Routes requests for boxes of other cells to the edge of their cell, which authorizes and serves them. */
export interface Leads {
  /**
   * Finds the edge of the cell that owns a host. Null if this cell owns it, or no cell. Until the owner changes, the edge routes requests
   * there without asking again.
   * @throws ServiceError `agent_unavailable` for a cell without an edge
   */
  find(host: string): Promise<CellEdge | null>
  /** Returns the canonical name of a host at another cell, the same for all domains of a box. Null if the host is unknown here. */
  exactOwner(host: string): string | null
  /** Lists the cells that hosts are routed to and whose edges do not answer. */
  problems(): Promise<HealthFault[]>
  close(): void
}

/** Creates the routes, which follow the directory. Above `LEADS_MAX` hosts, the oldest are dropped and looked up again. */
export function createLeads(deps: LeadsDeps): Leads {
  const { directory, domains, edge, logger } = deps
  const table = createLeadTable()
  const reads = createBuckets({ perSecond: READS_PER_SECOND, burst: READS_BURST, clock: deps.clock })
  const change = async (set: ReadonlyMap<string, CellEdge>, remove: readonly string[]): Promise<void> => {
    if (set.size + remove.length > 0) await edge.lead({ set, remove })
  }
  const review = (hosts: readonly string[]): void => {
    const set = new Map<string, CellEdge>()
    const remove: string[] = []
    for (const host of hosts) {
      const before = table.get(host)
      const now = locate(deps, host)
      if (now === null || now.to === null || now.cell === directory.cell) {
        table.delete(host)
        remove.push(host)
      } else if (before?.to.address !== now.to.address || before.to.port !== now.to.port) {
        table.set(host, { ...now, to: now.to })
        set.set(host, now.to)
      }
    }
    change(set, remove).catch((error: unknown) =>
      logger.error('failed to update routes of the edge to another cell', { error }),
    )
  }
  const unfollow = [
    directory.onChange((name) => review(name === null ? table.hosts() : table.hostsOf(name))),
    domains.onChange((host) => review(host === null ? table.hosts() : table.get(host) === undefined ? [] : [host])),
  ]
  const find = async (host: string): Promise<CellEdge | null> => {
    if (deps.hosts.has(host)) return null
    const owner = locate(deps, host) ?? (await readOwner(deps, host, reads))
    if (owner === null || owner.cell === directory.cell) return null
    if (owner.to === null) throw awayError(owner.cell)
    const { to } = owner
    await change(new Map([[host, to]]), table.set(host, { ...owner, to }))
    return to
  }
  return {
    find,
    exactOwner: (host) => exactOwner(deps, host),
    problems: () => findAway(table.cells(), deps.prober),
    close: () => {
      for (const end of unfollow) end()
    },
  }
}

/** The cell that owns a host, by the name of a box. */
interface HostOwner {
  name: HomeName
  cell: string
  /** Null without a reachable edge. */
  to: CellEdge | null
}

/** Finds the owner of a host in memory, which may be this cell. Null if none is known. */
function locate(deps: LeadsDeps, host: string): HostOwner | null {
  const name = nameOf(deps, host)
  const home = name === null ? null : deps.directory.find(name)
  return name === null || home === null ? null : ownerOf(deps, name, home)
}

/** Locates a host in the directory itself. Null also while it is away, or if unauthenticated clients ask too often. */
async function readOwner(
  deps: LeadsDeps,
  host: string,
  reads: ReturnType<typeof createBuckets>,
): Promise<HostOwner | null> {
  if (reads.waitOf('') !== null) return null
  reads.take('')
  try {
    if (boxOfHost(host, deps.address) === null) await deps.domains.read(host)
    const name = nameOf(deps, host)
    const home = name === null ? null : await deps.directory.read(name)
    return name === null || home === null ? null : ownerOf(deps, name, home)
  } catch {
    return null
  }
}

function nameOf({ domains, address }: LeadsDeps, host: string): HomeName | null {
  const inLabel = boxOfHost(host, address)
  if (inLabel !== null) return { kind: 'box', project: inLabel.project, name: inLabel.name }
  const owner = domains.find(host)
  return owner === null ? null : { kind: 'box', project: owner.project, name: owner.box }
}

function ownerOf({ directory }: LeadsDeps, name: HomeName, { cell }: Home): HostOwner {
  return { name, cell, to: parseEdge(directory.findCell(cell)?.edgeAddress ?? '') }
}

function exactOwner(deps: LeadsDeps, host: string): string | null {
  const { directory, domains, address } = deps
  const inLabel = boxOfHost(host, address)
  const owner = domains.find(host)
  const name = nameOf(deps, host)
  const home = name === null ? null : directory.find(name)
  if (name === null || home === null || home.cell === directory.cell) return null
  return owner === null && inLabel?.isOwn !== true ? null : `${name.project}/${name.name}`
}

/** Reads the address of an edge, `<address>:<port>`. Null if it is malformed. */
function parseEdge(text: string): CellEdge | null {
  const [, address = '', port = ''] = /^\[?([0-9a-fA-F.:]+)\]?:(\d{1,5})$/.exec(text) ?? []
  return isIP(address) > 0 ? { address, port: Number(port) } : null
}

/** A cross-node route: the owner of a host, with its edge. */
type Lead = HostOwner & { to: CellEdge }

/** The hosts that the edge routes without asking, by their boxes. */
function createLeadTable() {
  const leads = new Map<string, Lead>()
  const byName = new Map<string, Set<string>>()
  const remove = (host: string): void => {
    const lead = leads.get(host)
    if (lead === undefined) return
    leads.delete(host)
    const hosts = byName.get(keyOf(lead.name))
    hosts?.delete(host)
    if (hosts?.size === 0) byName.delete(keyOf(lead.name))
  }
  return {
    get: (host: string): Lead | undefined => leads.get(host),
    delete: remove,
    hosts: (): string[] => [...leads.keys()],
    hostsOf: (name: HomeName): string[] => [...(byName.get(keyOf(name)) ?? [])],
    /** Sets a route, and returns the hosts whose routes were evicted for it. */
    set: (host: string, lead: Lead): string[] => {
      remove(host)
      const oldest = leads.size >= LEADS_MAX ? [...leads.keys()].slice(0, 1) : []
      for (const gone of oldest) remove(gone)
      leads.set(host, lead)
      byName.set(keyOf(lead.name), (byName.get(keyOf(lead.name)) ?? new Set()).add(host))
      return oldest
    },
    cells: (): Map<string, CellEdge> => new Map([...leads.values()].map(({ cell, to }) => [cell, to])),
  }
}

function keyOf({ project, name }: HomeName): string {
  return `${project}/${name}`
}

async function findAway(cells: ReadonlyMap<string, CellEdge>, prober: Prober): Promise<HealthFault[]> {
  const probed = [...cells].map(async ([cell, { address, port }]): Promise<HealthFault[]> => {
    const reason = await prober.probe({ address, port, kind: 'tcp', path: '', timeoutMs: PROBE_MS })
    return reason === null ? [] : [edgeFault(cell, `${address}: ${reason}`)]
  })
  return (await Promise.all(probed)).flat()
}

function edgeFault(cell: string, evidence: string): HealthFault {
  return {
    code: 'cell_edge_away',
    evidence: `The edge of cell ${cell} is unreachable, so the URLs of its boxes fail here. ${evidence}`,
    remedy: 'Check that its node runs, and that this node can reach its BOXYARD_CELL_EDGE_PORT.',
  }
}

function awayError(cell: string): ServiceError {
  const headers = { 'Retry-After': '5' }
  return new ServiceError('agent_unavailable', `The node that this address belongs to cannot be reached.`, {
    headers,
    cause: `cell ${cell} has no address of an edge`,
  })
}

const LEADS_MAX = 10_000
/** Limits lookups of unknown hosts by unauthenticated clients. A box that another cell just created is such a host. */
const READS_PER_SECOND = 20
const READS_BURST = 50
const PROBE_MS = 1_000
