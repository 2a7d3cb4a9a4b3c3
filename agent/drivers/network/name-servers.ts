import { mkdirSync } from 'node:fs'
import type { Logger } from '../../../shared/log.ts'
import type { NetworkProblem } from '../../ports/boxes/network.ts'
import { createExitWatcher, type ExitWatcher } from '../host/exit-watcher.ts'
import { type FoundNameServer, killServers, type NameServerFiles, removeStaleFiles } from './name-server-process.ts'
import { ProjectServer, type ServerParts } from './project-server.ts'
import { planServer, SLOTS_MAX } from './slots.ts'

export interface NameServersOptions extends Pick<ServerParts, 'factory' | 'filter'> {
  files: NameServerFiles
  instance: number
  subnet: string
  logger: Logger
}

/**
 * The name servers of projects. Each project has one dnsmasq while it has a running box. A server has a slot like a box, so that the packet
 * filter isolates projects. It reads the names from the project's hosts file.
 */
export class NameServers {
  readonly #parts: ServerParts
  readonly #options: NameServersOptions
  readonly #watcher: ExitWatcher
  readonly #servers = new Map<string, ProjectServer>()
  /** By number. A number is free again once nothing is left of its server. */
  readonly #taken = new Map<number, ProjectServer>()
  readonly #endings = new Set<Promise<void>>()
  #next = 0

  constructor(options: NameServersOptions) {
    mkdirSync(options.files.directory, { recursive: true, mode: 0o711 })
    this.#options = options
    this.#watcher = createExitWatcher(options.logger)
    this.#parts = { ...options, watcher: this.#watcher }
  }

  /** Adopts the servers of projects with running boxes, by their addresses, and ends all others of an earlier process. */
  adopt(servers: readonly FoundNameServer[], addressesOf: (project: string) => readonly string[]): void {
    const { files, filter, instance, subnet } = this.#options
    const found = servers.map((one) => ({ ...one, addresses: addressesOf(one.project) }))
    // A project has two if the agent ended while it replaced one.
    const isFirst = ({ project }: { project: string }, index: number): boolean =>
      found.findIndex((one) => one.project === project) === index
    const kept = found.filter((one, index) => one.addresses.length > 0 && isFirst(one, index))
    killServers(instance, (number) => !kept.some((one) => one.number === number))
    for (const { number } of found.filter((each) => !kept.includes(each)))
      filter.remove(planServer(subnet, instance, number).address)
    removeStaleFiles(files, kept)
    for (const { project, number, pid, addresses } of kept) this.#add(project, number).adopt(pid, addresses)
  }

  /** Starts the server of a project unless it runs, for the box at `address`. Returns the server's own address, or null if none is free. */
  join(project: string, address: string): string | null {
    const server = this.#servers.get(project) ?? this.#start(project)
    server?.members.add(address)
    return server?.address ?? null
  }

  /** Resolves once the server of a project answers, at once for a project without one. As `ProjectServer.ready`. */
  async ready(project: string): Promise<void> {
    await this.#servers.get(project)?.ready()
  }

  /** Makes the server of a project read its hosts file again. */
  update(project: string): void {
    this.#servers.get(project)?.reload()
  }

  /** Updates the server of a box that leaves, after its hosts file. Ends it with the last box. */
  leave(address: string): void {
    for (const [project, server] of this.#servers) {
      if (!server.members.delete(address)) continue
      if (server.members.size > 0) server.reload()
      else this.#end(project, server)
    }
  }

  /** Makes all servers read the resolvers again. */
  reload(): void {
    for (const server of this.#servers.values()) server.reload()
  }

  problems(): NetworkProblem[] {
    const causes = new Set([...this.#servers.values()].flatMap(({ problem }) => problem ?? []))
    return [...causes].map((cause) => ({
      code: 'names_down',
      evidence: `a name server does not run, so the boxes of its project cannot resolve names. ${cause}`,
      remedy: "Install dnsmasq-base, or find the cause in the agent's log.",
    }))
  }

  /** Detaches from the servers. With `release`, ends them and waits for that. */
  async close({ release }: { release: boolean }): Promise<void> {
    for (const [project, server] of this.#servers) {
      if (release) this.#end(project, server)
      else await server.detach()
    }
    await Promise.all(this.#endings)
    this.#watcher.close()
  }

  #start(project: string): ProjectServer | null {
    const number = this.#freeNumber()
    if (number === null) return null
    const server = this.#add(project, number)
    server.start()
    return server
  }

  #add(project: string, number: number): ProjectServer {
    const server = new ProjectServer(this.#parts, { project, number })
    this.#servers.set(project, server)
    this.#taken.set(number, server)
    return server
  }

  #end(project: string, server: ProjectServer): void {
    this.#servers.delete(project)
    const ending = server.end().catch((error: unknown) => {
      this.#options.logger.error('failed to stop a name server', { error })
    })
    this.#endings.add(ending)
    void ending.then(() => {
      this.#endings.delete(ending)
      for (const [number, one] of this.#taken) if (one === server) this.#taken.delete(number)
    })
  }

  // Round robin, since the kernel removes the interface of a closed slot a little later.
  #freeNumber(): number | null {
    for (let step = 0; step < SLOTS_MAX; step++) {
      const number = (this.#next + step) % SLOTS_MAX
      if (this.#taken.has(number)) continue
      this.#next = (number + 1) % SLOTS_MAX
      return number
    }
    return null
  }
}
