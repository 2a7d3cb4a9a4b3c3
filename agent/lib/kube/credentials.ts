import { createHash } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import type { RequestOptions } from 'node:https'
import { dirname, resolve } from 'node:path'
import type * as kubernetes from '@kubernetes/client-node'
import { Agent } from 'undici'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'

/** Address of the API server, and the credentials for it. */
export interface KubeAccess {
  /** Base URL, without a trailing slash. */
  server: string
  headers: Record<string, string>
  /** Pool of kept connections. */
  dispatcher: Agent
}

/** The credentials of a kubeconfig file, which may be replaced at any time. */
export interface KubeCredentials {
  /** Returns the current access. Checks the files for changes at most once a second. */
  current(): Promise<KubeAccess>
  /** Reads all files again after a 401. Returns true if the credentials differ from `used`. */
  renew(used: KubeAccess): Promise<boolean>
  /** Destroys all connections. Later calls for the current access get one whose requests fail. */
  close(): void
}

/**
 * Reads the kubeconfig at `file`. Loads the library only here, since it takes 90 MB that a single host does not need.
 * @throws ServiceError `runtime_unavailable` for a file that cannot be used
 */
export async function openKubeCredentials(file: string, logger: Logger): Promise<KubeCredentials> {
  const library = await import('@kubernetes/client-node')
  const credentials = new FileCredentials(file, library, logger)
  await credentials.read()
  return credentials
}

/** A loaded kubeconfig. */
interface LoadedConfig {
  /** Inode, mtime and size of `files` when they were read. */
  fingerprint: string
  files: readonly string[]
  /** True if an exec plugin or auth provider issues the token, which must then be renewed regularly. */
  isProvided: boolean
  /** Digest of the server and TLS settings. */
  connectionKey: string
  access: KubeAccess
}

class FileCredentials implements KubeCredentials {
  readonly #file: string
  readonly #library: typeof kubernetes
  readonly #logger: Logger
  readonly #dispatchers = new Set<Agent>()
  #loaded: LoadedConfig | null = null
  #readAt = 0
  #checkedAt = 0
  #pending: Promise<LoadedConfig> | null = null
  #isClosed = false

  constructor(file: string, library: typeof kubernetes, logger: Logger) {
    this.#file = file
    this.#library = library
    this.#logger = logger
  }

  async current(): Promise<KubeAccess> {
    const loaded = this.#loaded
    const now = performance.now()
    if (loaded && now - this.#checkedAt < CHECK_MS) return loaded.access
    this.#checkedAt = now
    const isOld = loaded === null || (loaded.isProvided && now - this.#readAt > PROVIDED_MS)
    if (!isOld && fingerprintOf(loaded.files) === loaded.fingerprint) return loaded.access
    try {
      return (await this.read()).access
    } catch (error) {
      if (loaded === null) throw error
      // The file may be half written or absent for a moment, so this keeps the last good credentials. A 401 shows if they are no longer
      // valid.
      this.#logger.warn('failed to reload the kubeconfig', { error })
      return loaded.access
    }
  }

  async renew(used: KubeAccess): Promise<boolean> {
    try {
      const { access } = await this.read()
      return access.dispatcher !== used.dispatcher || access.headers['authorization'] !== used.headers['authorization']
    } catch (error) {
      this.#logger.warn('failed to reload the kubeconfig', { error })
      return false
    }
  }

  close(): void {
    this.#isClosed = true
    for (const dispatcher of this.#dispatchers) destroy(dispatcher)
  }

  read(): Promise<LoadedConfig> {
    this.#pending ??= this.#readAll().finally(() => {
      this.#pending = null
    })
    return this.#pending
  }

  async #readAll(): Promise<LoadedConfig> {
    const config = this.#load()
    const { files } = config
    const fingerprint = fingerprintOf(files)
    // Takes the TLS settings and headers only, because the library itself would open a new connection for every request.
    const options: RequestOptions = { headers: {} }
    await config.kube.applyToHTTPSOptions(options)
    const { ca, cert, key, servername, rejectUnauthorized, headers } = options
    const tls = { ca, cert, key, servername, rejectUnauthorized }
    const connectionKey = createHash('sha256')
      .update(`${config.server} ${JSON.stringify(tls)}`)
      .digest('hex')
    const dispatcher = this.#dispatcherFor(connectionKey, tls)
    const access = { server: config.server, headers: lowerCaseKeys(headers), dispatcher }
    this.#loaded = { fingerprint, files, isProvided: config.isProvided, connectionKey, access }
    this.#readAt = performance.now()
    return this.#loaded
  }

  /** Loads the kubeconfig with the library, plus `tokenFile`, which the library misspells. */
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
      // As in kubectl, `tokenFile` takes precedence over `token`.
      if (tokenPath) Object.assign(user, { token: readFileSync(tokenPath, 'utf8').trim() })
      const files = [this.#file, tokenPath, cluster.caFile, user.certFile, user.keyFile].filter(
        (path) => path !== undefined,
      )
      const isProvided = Boolean(user.exec ?? user.authProvider)
      return { kube, server: cluster.server, files, isProvided }
    } catch (error) {
      // Hides the YAML error, whose message quotes the lines around the fault. They may hold a token.
      const isYaml = error instanceof Error && error.name === 'YAMLException'
      throw new ServiceError(
        'runtime_unavailable',
        'The kubeconfig of BOXYARD_KUBECONFIG is not usable. Find the cause in the log.',
        {
          cause: isYaml ? new Error('it is not YAML') : error,
        },
      )
    }
  }

  #dispatcherFor(connectionKey: string, tls: object): Agent {
    const loaded = this.#loaded
    if (loaded?.connectionKey === connectionKey) return loaded.access.dispatcher
    const defined = Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined))
    const dispatcher = new Agent({
      // A single HTTP/2 connection is slower, and one reset ends all its requests.
      allowH2: false,
      connections: CONNECTIONS_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
      connect: { ...defined, timeout: CONNECT_MS, keepAlive: true, keepAliveInitialDelay: 30_000 },
    })
    if (this.#isClosed) {
      destroy(dispatcher)
      return dispatcher
    }
    this.#dispatchers.add(dispatcher)
    // Requests and watches in progress finish on the old connections, unless `close` destroys them first.
    const old = loaded?.access.dispatcher
    if (old) {
      old.close().then(
        () => this.#dispatchers.delete(old),
        () => undefined,
      )
    }
    return dispatcher
  }
}

function destroy(dispatcher: Agent): void {
  dispatcher.destroy().catch(() => undefined)
}

interface RawKubeconfig {
  users?: { name: string; user?: { tokenFile?: string } }[]
}

/** Returns a value that changes when one of the files is replaced or written. */
function fingerprintOf(files: readonly string[]): string {
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

const CHECK_MS = 1_000
const PROVIDED_MS = 60_000
const CONNECT_MS = 5_000
/** Below the 90 s after which an API server closes idle connections. */
const KEEP_ALIVE_MS = 60_000
const CONNECTIONS_MAX = 32
