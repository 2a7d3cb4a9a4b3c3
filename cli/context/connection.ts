import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../output/failures.ts'
import { readContexts, readDirectoryDefaults } from './store.ts'

/** The service, token and project that a command is for. */
export interface Connection {
  url: string
  /** Read anew for each request where it is the administrator's, which is renewed daily. */
  token(): string | null
  /** Null: none was named. */
  project: string | null
  /** The box of the directory, which `.` stands for; null: none was named. */
  box: string | null
}

export interface ConnectionFlags {
  context?: string | undefined
  project?: string | undefined
}

/**
 * Finds the connection: flags win over the environment (of which what is empty says nothing), that over the `.boxyard` file of the directory, that over the context.
 * Without a login it is the service of this host, with the administrator's token where this user may read it.
 * @throws UsageError for a context that nobody has logged in to
 */
export function findConnection(flags: ConnectionFlags, environment: NodeJS.ProcessEnv, directory: string): Connection {
  const { contexts, current } = readContexts(environment)
  const defaults = readDirectoryDefaults(directory)
  const named = flags.context ?? (environment['BOXYARD_CONTEXT'] || defaults.context)
  const context = contexts[named ?? current ?? '']
  if (named !== undefined && context === undefined)
    throw new UsageError(`There is no context "${named}": boxyard login.`)
  const project = flags.project ?? (environment['BOXYARD_PROJECT'] || defaults.project || context?.project || null)
  const box = environment['BOXYARD_BOX'] || defaults.box || null
  const url = environment['BOXYARD_URL'] || context?.url
  const token = environment['BOXYARD_TOKEN'] || (context?.url === url ? context?.token : undefined)
  if (url === undefined) return { ...localService(environment, token), project, box }
  return { url, token: () => token ?? null, project, box }
}

/** The service of this host, by the settings that it is run with (docs/install.md). */
function localService(environment: NodeJS.ProcessEnv, token: string | undefined): Omit<Connection, 'project' | 'box'> {
  const directory = environment['BOXYARD_DATA_DIR'] ?? '/var/lib/boxyard'
  return {
    url: `http://${hostOf(environment['BOXYARD_HOST'] ?? '')}:${environment['BOXYARD_PORT'] ?? '8080'}`,
    token: () => token ?? readOrNull(join(directory, 'admin.token')),
  }
}

/** Where a front that listens at `address` is reached from this host. */
function hostOf(address: string): string {
  if (['', '0.0.0.0', '::'].includes(address)) return '127.0.0.1'
  return address.includes(':') ? `[${address}]` : address
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch {
    return null
  }
}
