import { posix } from 'node:path'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { pathFields } from '../../sdk/typescript/src/byte-names.ts'
import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { UsageError } from '../output/failures.ts'
import { accountOf } from './accounts.ts'

/** A path in a box. */
export interface RemotePath {
  box: string
  /** The path as given. A relative path begins at root's home directory, as with scp. */
  path: string
}

/** Parses `BOX:PATH`, or returns null for a local path. `./a:b` is always local. */
export function remotePathOf(text: string): RemotePath | null {
  const [, box, path = ''] = /^([a-z0-9][a-z0-9-]*):(.*)$/s.exec(text) ?? []
  return box === undefined ? null : { box, path }
}

/** Parses `BOX:PATH`. @throws UsageError for any other text */
export function requireRemotePath(text: string): RemotePath {
  const remote = remotePathOf(text)
  if (remote === null) throw new UsageError(`"${text}" is not BOX:PATH.`)
  return remote
}

/** Returns the absolute path. A relative path begins at root's home directory in the box's `/etc/passwd`. */
export async function absolutePathIn(box: BoxHandle, path: string): Promise<string> {
  if (path.startsWith('/')) return path
  const home = await homeIn(box)
  const rest = path.replace(/^~\/?/, '')
  // Not normalized, because a final slash or `/.` follows a link there.
  return rest === '' ? home : `${home.replace(/\/+$/, '')}/${rest}`
}

/**
 * Follows the links at the end of a path of a box. Returns where they lead, and the result of `lstat` there, which may be null.
 * @throws Error beyond 40 links, and the errors of `lstat`
 */
export async function followLinks<T extends { type: string; target: string | null } | null>(
  path: string,
  lstat: (path: string) => Promise<T>,
): Promise<{ path: string; file: T }> {
  let at = path
  for (let hops = 0; hops <= LINKS_MAX; hops++) {
    const file = await lstat(at)
    if (file?.type !== 'symlink' || file.target === null) return { path: at, file }
    // Not normalized, because a name before `..` may itself be a link, which only the box's kernel resolves.
    at = file.target.startsWith('/') ? file.target : `${posix.dirname(at)}/${file.target}`
  }
  throw new Error(`${path} leads through more than ${LINKS_MAX} links.`)
}

/** Describes a path of a box. Returns null if nothing is there. */
export async function describeRemote(
  boxyard: Boxyard,
  { project, name }: { project: string; name: string },
  path: string,
): Promise<AnswerOf<'statFile'> | null> {
  return orNull(boxyard.call('statFile', { path: { project, name }, query: pathFields(path) }))
}

/** Returns the result of a request for a file, or null if there is no such file. */
export async function orNull<T>(found: Promise<T>): Promise<T | null> {
  try {
    return await found
  } catch (error) {
    if (error instanceof ApiError && error.code === 'file_not_found') return null
    throw error
  }
}

/** Formats permission bits for the API. */
export function formatMode(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0')
}

async function homeIn(box: BoxHandle): Promise<string> {
  const passwd = await orNull(box.readFile('/etc/passwd').then((bytes) => new Response(bytes).text()))
  return accountOf(passwd ?? '', '0').home
}

const LINKS_MAX = 40
