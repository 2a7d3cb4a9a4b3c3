import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { bytesOfText, isText, pathFields } from '../../sdk/typescript/src/byte-names.ts'
import type { AnswerOf, CallInput } from '../../sdk/typescript/src/calls.ts'
import { holdObject } from '../../sdk/typescript/src/held-answers.ts'
import type { BoxAccount } from '../files/accounts.ts'
import { followLinks, formatMode, orNull } from '../files/remote-path.ts'

/** A file as the API tells of it. */
export type BoxFile = AnswerOf<'statFile'>

/** The disk that a path is on: what it may hold, and what it holds. */
export interface FileSpace {
  limitBytes: number
  usedBytes: number
  isReadOnly: boolean
}

/** Attributes to give to a file; what is undefined stays. */
export interface FileChange {
  mode?: number | undefined
  uid?: number | undefined
  gid?: number | undefined
  /** Seconds since 1970. */
  mtime?: number | undefined
  sizeBytes?: number | undefined
}

/** A refusal, told to a client of SFTP by its kind. */
export class FileError extends Error {
  override readonly name = 'FileError'
  readonly kind: 'denied' | 'unsupported' | 'failed'

  constructor(kind: FileError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/** Files of a box in the terms of SFTP. Its paths are absolute; links at their ends are followed where that is said. @throws ApiError, FileError */
export interface BoxFiles {
  /** Stats a path as lstat does. */
  lstat(path: string): Promise<BoxFile>
  /** Follows links; returns where they lead, and what is there. */
  follow(path: string): Promise<{ path: string; file: BoxFile }>
  /** Lists a directory from the beginning, or where a page has ended. */
  list(path: string, token: string | null): Promise<{ files: readonly BoxFile[]; next: string | null }>
  /** Makes an empty file; false if there is one. */
  create(path: string, mode: number): Promise<boolean>
  /** Throws unless a path leads to a file. */
  checkFile(path: string): Promise<void>
  /** Writes all of a file, which gets the mode `made` if it is new, and `kept`, if that is given, where there is one. */
  put(path: string, bytes: Uint8Array, modes: { made: number; kept: number | undefined }): Promise<void>
  makeDirectory(path: string, mode: number): Promise<void>
  remove(path: string, kind: 'directory' | 'other'): Promise<void>
  /** Gives a new name, which must be free unless what has it is to be overwritten. */
  rename(from: string, to: string, options?: { overwrite: boolean }): Promise<void>
  /** Makes a link. */
  link(path: string, target: string, kind: 'symbolic' | 'hard'): Promise<void>
  /** Returns what the disk of the box, or the volume, that a path is on may hold and holds: what `df` tells is of the whole pool. */
  space(path: string): Promise<FileSpace>
  /** Changes attributes. */
  change(path: string, change: FileChange): Promise<void>
}

/** What of SFTP the API has no operation for is done by a command of the box, as its user: chmod, chown, touch, truncate and ln. */
export function createBoxFiles(
  deps: { boxyard: Boxyard; box: BoxHandle },
  user: string,
  account: BoxAccount,
): BoxFiles {
  const { boxyard, box } = deps
  const at = { project: box.project, name: box.name }
  const lstat: BoxFiles['lstat'] = (path) => boxyard.call('statFile', { path: at, query: pathFields(path) })
  const run = async (command: readonly string[], as: string): Promise<void> => {
    const { exit_code: code, stderr } = await box.run(lineOf(command), { user: as, cwd: '/' })
    if (code !== 0) throw failureOf(command[0] ?? '', code, stderr)
  }
  const checkFree = async (path: string): Promise<void> => {
    if ((await orNull(lstat(path))) !== null) throw new FileError('failed', `${path}: it exists.`)
  }
  // The API makes files for root.
  const giveToUser = async (path: string): Promise<void> => {
    if (account.uid !== 0) await run(['chown', `${account.uid}:${account.gid}`, path], 'root')
  }
  const follow: BoxFiles['follow'] = (path) => followLinks(path, lstat)
  return {
    lstat,
    follow,
    checkFile: async (path) => {
      if ((await follow(path)).file.type !== 'file') throw new FileError('failed', `${path}: it is no file.`)
    },
    put: async (path, bytes, { made, kept }) => {
      const write = async (mode: number | undefined, headers: Record<string, string>): Promise<void> => {
        const query = { ...pathFields(path), ...(mode === undefined ? {} : { mode: formatMode(mode) }) }
        const body = { body: bytes, contentType: 'application/octet-stream' }
        await holdObject(await boxyard.transfer('writeFile', { path: at, query, headers, ...body }))
      }
      try {
        await write(made, { 'if-none-match': '*' })
      } catch (error) {
        if (!(error instanceof ApiError && error.code === 'precondition_failed')) throw error
        return write(kept, {})
      }
      await giveToUser(path)
    },
    list: async (path, token) => {
      const query = {
        ...pathFields(path),
        max_results: PAGE_FILES,
        ...(token === null ? {} : { continuation_token: token }),
      }
      const { files, next_continuation_token: next } = await boxyard.call('listFiles', { path: at, query })
      return { files, next }
    },
    create: async (path, mode) => {
      try {
        const body = { ...pathFields(path), content: '', mode: formatMode(mode) }
        await boxyard.call('writeFile', { path: at, body, headers: { 'if-none-match': '*' } })
      } catch (error) {
        if (error instanceof ApiError && error.code === 'precondition_failed') return false
        throw error
      }
      await giveToUser(path)
      return true
    },
    makeDirectory: async (path, mode) => {
      await checkFree(path)
      await boxyard.call('makeDirectory', { path: at, body: { ...pathFields(path), mode: formatMode(mode) } })
      await giveToUser(path)
    },
    remove: async (path, kind) => {
      const isDirectory = (await lstat(path)).type === 'directory'
      if (isDirectory !== (kind === 'directory'))
        throw new FileError('failed', `${path}: it is ${isDirectory ? 'a' : 'no'} directory.`)
      await boxyard.call('deleteFile', { path: at, query: pathFields(path) })
    },
    rename: async (from, to, { overwrite } = { overwrite: false }) => {
      await boxyard.call('moveFile', { path: at, body: { ...namesOfMove(from, to), overwrite } })
    },
    link: async (path, target, kind) => {
      await checkFree(path)
      await run(['ln', ...(kind === 'symbolic' ? ['-s'] : []), '--', target, path], user)
    },
    space: (path) => spaceAt(deps, path),
    change: async (path, { mode, uid, gid, mtime, sizeBytes }) => {
      if (sizeBytes !== undefined) await run(['truncate', '-s', String(sizeBytes), path], user)
      if (uid !== undefined && gid !== undefined) await run(['chown', `${uid}:${gid}`, path], user)
      // After the owner, whose change takes set-user-id bits away.
      if (mode !== undefined) await run(['chmod', formatMode(mode), path], user)
      if (mtime !== undefined) await run(['touch', '-c', '-d', `@${mtime}`, path], user)
    },
  }
}

async function spaceAt({ boxyard, box }: { boxyard: Boxyard; box: BoxHandle }, path: string): Promise<FileSpace> {
  const { project, name } = box
  const { data_mounts: mounts } = await boxyard.call('getBox', { path: { project, name } })
  const above = mounts.filter((mount) => path === mount.path || path.startsWith(`${mount.path}/`))
  const [mount] = above.toSorted((one, two) => two.path.length - one.path.length)
  if (mount === undefined) {
    const { storage } = await boxyard.call('getBoxMetrics', { path: { project, name } })
    return { limitBytes: storage.limit_bytes, usedBytes: storage.used_bytes, isReadOnly: false }
  }
  const volume = await boxyard.call('getVolume', { path: { project, name: mount.name } })
  return { limitBytes: volume.size_gb * 1024 ** 3, usedBytes: volume.used_bytes ?? 0, isReadOnly: mount.read_only }
}

function failureOf(program: string, code: number | null, stderr: string): FileError {
  if (code === null || code === 126 || code === 127) return new FileError('unsupported', `The box has no ${program}.`)
  return new FileError(/permi/i.test(stderr) ? 'denied' : 'failed', stderr.trim())
}

function namesOfMove(from: string, to: string): CallInput<'moveFile'>['body'] {
  const [source, target] = [pathFields(from), pathFields(to)]
  return {
    ...('path' in source ? { from: source.path } : { from_base64: source.path_base64 }),
    ...('path' in target ? { to: target.path } : { to_base64: target.path_base64 }),
  }
}

/** Returns a command whose arguments need not be UTF-8: a shell of the box makes those from their bytes. A pure function. */
export function lineOf(command: readonly string[]): readonly string[] {
  if (command.every(isText)) return command
  const assigned = command.flatMap((text, index) => {
    if (isText(text)) return []
    const octal = [...bytesOfText(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
    // The shell would cut new lines off the end.
    return [`a${index}=$(printf '${octal}.'); a${index}=\${a${index}%.}`]
  })
  const words = command.map((text, index) => (isText(text) ? `"\${${index + 1}}"` : `"$a${index}"`))
  return [
    'sh',
    '-c',
    `${assigned.join('; ')}; exec ${words.join(' ')}`,
    'sh',
    ...command.map((text) => (isText(text) ? text : '')),
  ]
}

const PAGE_FILES = 1000
