import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { dirname, resolve } from 'node:path'
import type * as kubernetes from '@kubernetes/client-node'
import { Agent } from 'undici'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'

/** Where the API server is, and what shows it who we are. */
export interface KubeAccess {
  /** Base address, without a slash at the end. */
  server: string
  headers: Record<string, string>
  /** The kept connections. */
  dispatcher: Agent
}

/** The credentials of a kubeconfig file, which may be replaced at any time. */
export interface KubeCredentials {
  /** What the files say now: they are looked at once a second at most. */
  current(): Promise<KubeAccess>
  /** After a 401: reads all of it again; true if it says something else than `used`. */
  renew(used: KubeAccess): Promise<boolean>
  /** Cuts every connection. */
  close(): void
}

/**
 * Reads the kubeconfig at `file`. The library is loaded here: 90 MB that only a cluster is worth.
 * @throws ServiceError `runtime_unavailable` for a file that cannot be used
 */
export async function openKubeCredentials(file: string, logger: Logger): Promise<KubeCredentials> {
  const library = await import('@kubernetes/client-node')
  const credentials = new FileCredentials(file, library, logger)
  await credentials.read()
  return credentials
}

/** What a kubeconfig comes down to. */
interface Reading {
  /** The files it was read from, as they were. */
  marks: string
  files: readonly string[]
  /** A program or provider gives the token: ask it again now and then. */
  isProvided: boolean
  /** What the connections depend on. */
  connectionKey: string
  access: KubeAccess
}

class FileCredentials implements KubeCredentials {
  readonly #file: string
  readonly #library: typeof kubernetes
  readonly #logger: Logger
  readonly #dispatchers = new Set<Agent>()
  #reading: Reading | null = null
  #readAt = 0
  #lookedAt = 0
  #underWay: Promise<Reading> | null = null

  constructor(file: string, library: typeof kubernetes, logger: Logger) {
    this.#file = file
    this.#library = library
    this.#logger = logger
  }

  async current(): Promise<KubeAccess> {
    const reading = this.#reading
    const now = performance.now()
    if (reading && now - this.#lookedAt < LOOK_MS) return reading.access
    this.#lookedAt = now
    const isOld = reading === null || (reading.isProvided && now - this.#readAt > PROVIDED_MS)
    if (!isOld && marksOf(reading.files) === reading.marks) return reading.access
    try {
      return (await this.read()).access
    } catch (error) {
      if (reading === null) throw error
      // Half a file, or none for a moment: what was good goes on, and a 401 tells if it is not.
      this.#logger.warn('the kubeconfig cannot be read again', { error })
      return reading.access
    }
  }

  async renew(used: KubeAccess): Promise<boolean> {
    try {
      const { access } = await this.read()
      return access.dispatcher !== used.dispatcher || access.headers['authorization'] !== used.headers['authorization']
    } catch (error) {
      this.#logger.warn('the kubeconfig cannot be read again', { error })
      return false
    }
  }

  close(): void {
    for (const dispatcher of this.#dispatchers) dispatcher.destroy().catch(() => undefined)
  }

  read(): Promise<Reading> {
    this.#underWay ??= this.#readAll().finally(() => {
      this.#underWay = null
    })
    return this.#underWay
  }

  async #readAll(): Promise<Reading> {
    const config = this.#load()
    const { files } = config
    const marks = marksOf(files)
    // Everything but the connections themselves: the library would open new ones with every request.
    const options: RequestOptions = { headers: {} }
    await config.kube.applyToHTTPSOptions(options)
    const { ca, cert, key, servername, rejectUnauthorized, headers } = options
    const tls = { ca, cert, key, servername, rejectUnauthorized }
    const connectionKey = createHash('sha256')
      .update(`${config.server} ${JSON.stringify(tls)}`)
      .digest('hex')
    const dispatcher = this.#dispatcherFor(connectionKey, tls)
    const access = { server: config.server, headers: lowerCaseKeys(headers), dispatcher }
    this.#reading = { marks, files, isProvided: config.isProvided, connectionKey, access }
    this.#readAt = performance.now()
    return this.#reading
  }

  /** The library's own reading, plus `tokenFile`, whose name it has wrong. */
  #load(): { kube: kubernetes.KubeConfig; server: string; files: string[]; isProvided: boolean } {
    const { KubeConfig: Config, loadYaml } = this.#library
    try {
      const kube = new Config()
      kube.loadFromFile(this.#file)
      const cluster = kube.getCurrentCluster()
      const user = kube.getCurrentUser()
      if (!cluster || !user) throw new Error('it names no current cluster and user')
      if (cluster.proxyUrl) throw new Error('a proxy is not supported')
      const parsed = loadYaml<RawKubeconfig>(readFileSync(this.#file, 'utf8'))
      const { tokenFile } = parsed.users?.find(({ name }) => name === user.name)?.user ?? {}
      const tokenPath = tokenFile === undefined ? undefined : resolve(dirname(this.#file), tokenFile)
      // As kubectl does: the file goes before a token beside it.
      if (tokenPath) Object.assign(user, { token: readFileSync(tokenPath, 'utf8').trim() })
      const files = [this.#file, tokenPath, cluster.caFile, user.certFile, user.keyFile].filter(
        (path) => path !== undefined,
      )
      const isProvided = Boolean(user.exec ?? user.authProvider)
      return { kube, server: cluster.server, files, isProvided }
    } catch (error) {
      // What a YAML parser says shows the lines around the fault, a token among them.
      const isYaml = error instanceof Error && error.name === 'YAMLException'
      throw new ServiceError(
        'runtime_unavailable',
        'The kubeconfig of BOXYARD_KUBECONFIG cannot be used; see the log.',
        {
          cause: isYaml ? new Error('it is no YAML') : error,
        },
      )
    }
  }

  #dispatcherFor(connectionKey: string, tls: object): Agent {
    const reading = this.#reading
    if (reading?.connectionKey === connectionKey) return reading.access.dispatcher
    const defined = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined))
    const dispatcher = new Agent({
      // One stream of HTTP/2 for all is slower, and one reset ends them all.
      allowH2: false,
      connections: CONNECTIONS_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      connect: { ...defined, timeout: CONNECT_MS, keepAlive: true, keepAliveInitialDelay: 30_000 },
    })
    this.#dispatchers.add(dispatcher)
    // What is under way, a watch among it, ends with the old certificate.
    const old = reading?.access.dispatcher
    if (old) void old.close().then(() => this.#dispatchers.delete(old))
    return dispatcher
  }
}

interface RawKubeconfig {
  users?: { name: string; user?: { tokenFile?: string } }[]
}

/** What changes when one of the files is replaced or written. */
function marksOf(files: readonly string[]): string {
  return files
    .map((file) => {
      const stat = statSync(file, { throwIfNoEntry: false })
      return stat ? `${stat.ino} ${stat.mtimeMs} ${stat.size}` : 'none'
    })
    .join()
}

function lowerCaseKeys(headers: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), String(value)]))
}

const LOOK_MS = 1_000
const PROVIDED_MS = 60_000
const CONNECT_MS = 5_000
/** Below the 90 s after which an API server closes idle connections. */
const KEEP_ALIVE_MS = 60_000
const CONNECTIONS_MAX = 32
