import { posix } from 'node:path'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import type { AnswerOf } from '../../sdk/typescript/src/calls.ts'
import { UsageError } from '../output/failures.ts'

/** A path in a box. */
export interface RemotePath {
  box: string
  /** As it was given: one that is relative begins at the home of root, as with scp. */
  path: string
}

/** Reads `BOX:PATH`; null for a path of this machine, as which `./a:b` is always taken. */
export function remotePathOf(text: string): RemotePath | null {
  const [, box, path = ''] = /^([a-z0-9][a-z0-9-]*):(.*)$/s.exec(text) ?? []
  return box === undefined ? null : { box, path }
}

/** Reads `BOX:PATH`. @throws UsageError for what is none */
export function requireRemotePath(text: string): RemotePath {
  const remote = remotePathOf(text)
  if (remote === null) throw new UsageError(`"${text}" is not BOX:PATH.`)
  return remote
}

/** Returns the absolute path: one that is relative is below the home of root, which the box's `/etc/passwd` tells. */
export async function absolutePathIn(box: BoxHandle, path: string): Promise<string> {
  if (path.startsWith('/')) return path
  const home = await homeIn(box)
  const rest = path.replace(/^~\/?/, '')
  return rest === '' ? home : posix.join(home, rest)
}

/** Returns the home of root in the text of an `/etc/passwd`; `/root` where that tells none. */
export function homeOfRoot(passwd: string): string {
  const fields = passwd
    .split('\n')
    .map((line) => line.split(':'))
    .find(([, , uid]) => uid === '0')
  return fields?.[5]?.startsWith('/') === true ? fields[5] : '/root'
}

/** Describes a path of a box; null where nothing is. */
export async function describeRemote(
  boxyard: Boxyard,
  { project, name }: { project: string; name: string },
  path: string,
): Promise<AnswerOf<'statFile'> | null> {
  try {
    return await boxyard.call('statFile', { path: { project, name }, query: { path } })
  } catch (error) {
    if (error instanceof ApiError && error.code === 'file_not_found') return null
    throw error
  }
}

async function homeIn(box: BoxHandle): Promise<string> {
  try {
    return homeOfRoot(await new Response(await box.readFile('/etc/passwd')).text())
  } catch (error) {
    if (error instanceof ApiError && error.code === 'file_not_found') return homeOfRoot('')
    throw error
  }
}
