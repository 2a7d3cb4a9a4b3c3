import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { UsageError } from '../output/failures.ts'
import { readDirectoryFile } from './directory-file.ts'
import { checkBoxName, checkContextName, checkProjectName, checkServiceUrl } from './names.ts'
import { contextNamed, readContexts, type StoredContext } from './store.ts'

/** The service, token and project of a command. */
export interface Connection {
  url: string
  /** Reads the administrator's token again for each request, because it is renewed daily. */
  token(): string | null
  /** The login that the command uses. Null for an address from the environment and for the service of this host. */
  context: string | null
  /** Null if none is named. */
  project: string | null
  /** The box of the directory, which `.` refers to. Null if none is named. */
  box: string | null
  /** The choices of a `.boxyard` file, which the user may not have read. Null without a file. */
  chosen: FileChoice | null
  /** Skipped `.boxyard` files of other users. */
  ignored: readonly string[]
}

/** A `.boxyard` file and its choices. */
export interface FileChoice {
  path: string
  /** Whether the context comes from the file, and differs from the context of commands elsewhere. */
  hasContext: boolean
  hasProject: boolean
}

export interface ConnectionFlags {
  context?: string | undefined
  project?: string | undefined
}

/**
 * Finds the connection. Flags take precedence over the environment, which takes precedence over the `.boxyard` file of the directory and
 * then the context. Ignores empty variables. Without a login, uses the service of this host, with the administrator's token if this user
 * can read it. The client sends a token only to the address of its login. It sends BOXYARD_TOKEN only to BOXYARD_URL.
 * @throws UsageError for a context without a login, a name or URL that is invalid, and a token without an address
 */
export function findConnection(flags: ConnectionFlags, environment: NodeJS.ProcessEnv, directory: string): Connection {
  const stored = readContexts(environment)
  const file = readDirectoryFile(directory)
  const given = namesGiven(flags, environment)
  const givenUrl = flags.context === undefined ? environment['BOXYARD_URL'] || null : null
  const url = givenUrl === null ? null : checkServiceUrl(givenUrl, 'BOXYARD_URL')
  const fileContext = given.context === undefined && url === null ? file.context : undefined
  const name = given.context ?? fileContext ?? stored.current ?? null
  const login = name === null ? undefined : contextNamed(stored, name)
  if (name !== null && name !== stored.current && login === undefined)
    throw new UsageError(`There is no context "${name}". boxyard context ls lists them, and boxyard login adds one.`)
  return {
    ...addressOf({ url, login, name, isFlag: flags.context !== undefined }, environment),
    project: given.project ?? file.project ?? login?.project ?? null,
    box: given.box ?? file.box ?? null,
    chosen:
      file.path === null
        ? null
        : {
            path: file.path,
            hasContext: fileContext !== undefined && fileContext !== stored.current,
            hasProject: given.project === undefined && file.project !== undefined,
          },
    ignored: file.ignored,
  }
}

/** Reads and checks the names in flags and environment. @throws UsageError */
function namesGiven(
  flags: ConnectionFlags,
  environment: NodeJS.ProcessEnv,
): { context: string | undefined; project: string | undefined; box: string | undefined } {
  const either = (
    flag: keyof ConnectionFlags,
    variable: string,
    check: typeof checkProjectName,
  ): string | undefined => {
    const [text, source] =
      flags[flag] === undefined ? [environment[variable] || undefined, variable] : [flags[flag], `--${flag}`]
    return text === undefined ? undefined : check(text, source)
  }
  const box = environment['BOXYARD_BOX'] || undefined
  return {
    context: either('context', 'BOXYARD_CONTEXT', checkContextName),
    project: either('project', 'BOXYARD_PROJECT', checkProjectName),
    box: box === undefined ? undefined : checkBoxName(box, 'BOXYARD_BOX'),
  }
}

interface AddressChoice {
  /** BOXYARD_URL. Null if it is not set, or if a flag names a context. */
  url: string | null
  login: StoredContext | undefined
  /** Name of the login. */
  name: string | null
  isFlag: boolean
}

/** Returns the address and its token. @throws UsageError for a token without a known address */
function addressOf(
  { url, login, name, isFlag }: AddressChoice,
  environment: NodeJS.ProcessEnv,
): Pick<Connection, 'url' | 'token' | 'context'> {
  const token = isFlag ? undefined : environment['BOXYARD_TOKEN'] || undefined
  if (url !== null) {
    const found = token ?? (login?.url === url ? login.token : undefined) ?? null
    return { url, token: () => found, context: null }
  }
  if (login?.url === undefined)
    return { ...localService(environment, token), context: login === undefined ? null : name }
  if (token !== undefined)
    throw new UsageError(
      `BOXYARD_TOKEN is set without BOXYARD_URL, so its service is unknown. Set both, or unset it to use the login "${name}".`,
    )
  const found = login.token ?? null
  const address = checkServiceUrl(login.url, `url of the context "${name}"`)
  return { url: address, token: () => found, context: name }
}

/** The service of this host, by its own settings (docs/install.md). */
function localService(environment: NodeJS.ProcessEnv, token: string | undefined): Pick<Connection, 'url' | 'token'> {
  const directory = environment['BOXYARD_DATA_DIR'] ?? '/var/lib/boxyard'
  const url = `http://${hostOf(environment['BOXYARD_HOST'] ?? '')}:${environment['BOXYARD_PORT'] ?? '8080'}`
  return {
    url: checkServiceUrl(url, 'BOXYARD_HOST and BOXYARD_PORT'),
    token: () => token ?? readOrNull(join(directory, 'admin.token')),
  }
}

/** Returns the host at which this machine reaches a front that listens at `address`. */
function hostOf(address: string): string {
  if (['', '0.0.0.0', '::'].includes(address)) return '127.0.0.1'
  return address.includes(':') ? `[${address}]` : address
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
