import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import { bytesOfText, isText, pathFields } from '../../sdk/typescript/src/byte-names.ts'
import type { AnswerOf, CallInput } from '../../sdk/typescript/src/calls.ts'
import { holdObject } from '../../sdk/typescript/src/held-answers.ts'
import type { BoxAccount } from '../files/accounts.ts'
import { followLinks, formatMode, orNull } from '../files/remote-path.ts'

/** A file as the API describes it. */
export type BoxFile = AnswerOf<'statFile'>

/** Limit and use of the disk that holds a path. */
export interface FileSpace {
  limitBytes: number
  usedBytes: number
  isReadOnly: boolean
}

/** Attributes to set on a file. Undefined ones do not change. */
export interface FileChange {
  mode?: number | undefined
  uid?: number | undefined
  gid?: number | undefined
  /** Seconds since 1970. */
  mtime?: number | undefined
  sizeBytes?: number | undefined
}

/** A refusal. An SFTP client gets its kind. */
export class FileError extends Error {
  override readonly name = 'FileError'
  readonly kind: 'denied' | 'unsupported' | 'failed'

  constructor(kind: FileError['kind'], message: string) {
    super(message)
    this.kind = kind
  }
}

/**
 * Files of a box in the terms of SFTP. Paths are absolute. Methods follow a final link only if they say so. If the API has no operation for
 * a change, a command in the box does it as its user: chmod, chown, touch, truncate and ln. @throws ApiError, FileError
 */
export class BoxFiles {
  readonly #boxyard: Boxyard
  readonly #box: BoxHandle
  readonly #user: string
  readonly #account: BoxAccount

  constructor({ boxyard, box }: { boxyard: Boxyard; box: BoxHandle }, user: string, account: BoxAccount) {
    this.#boxyard = boxyard
    this.#box = box
    this.#user = user
    this.#account = account
  }

  /** Stats a path as lstat does. */
  lstat(path: string): Promise<BoxFile> {
    return this.#boxyard.call('statFile', { path: this.#at, query: pathFields(path) })
  }

  /** Follows links, and returns where they lead with the file there. */
  follow(path: string): Promise<{ path: string; file: BoxFile }> {
    return followLinks(path, (each) => this.lstat(each))
  }

  /** Throws unless a path leads to a file. */
  async checkFile(path: string): Promise<void> {
    if ((await this.follow(path)).file.type !== 'file') throw new FileError('failed', `${path}: not a regular file.`)
  }

  /** Lists a directory from the beginning, or after a page. */
  async list(path: string, token: string | null): Promise<{ files: readonly BoxFile[]; next: string | null }> {
    const from = token === null ? {} : { continuation_token: token }
    const query = { ...pathFields(path), max_results: PAGE_FILES, ...from }
    const { files, next_continuation_token: next } = await this.#boxyard.call('listFiles', { path: this.#at, query })
    return { files, next }
  }

  /** Creates an empty file. Returns false if one exists. */
  async create(path: string, mode: number): Promise<boolean> {
    const body = { ...pathFields(path), content: '', mode: formatMode(mode) }
    return this.#make(path, (headers) => this.#boxyard.call('writeFile', { path: this.#at, body, headers }))
  }

  /** Writes a whole file. It gets the mode `made` if it is new, and `kept`, if given, if it exists. */
  async put(
    path: string,
    bytes: Uint8Array,
    { made, kept }: { made: number; kept: number | undefined },
  ): Promise<void> {
    const write = async (mode: number | undefined, headers: Record<string, string>): Promise<void> => {
      const query = { ...pathFields(path), ...(mode === undefined ? {} : { mode: formatMode(mode) }) }
      const body = { body: bytes, contentType: 'application/octet-stream' }
      await holdObject(await this.#boxyard.transfer('writeFile', { path: this.#at, query, headers, ...body }))
    }
    if (!(await this.#make(path, (headers) => write(made, headers)))) await write(kept, {})
  }

  async makeDirectory(path: string, mode: number): Promise<void> {
    await this.#checkFree(path)
    const body = { ...pathFields(path), mode: formatMode(mode) }
    await this.#boxyard.call('makeDirectory', { path: this.#at, body })
    await this.#giveToUser(path)
  }

  async remove(path: string, kind: 'directory' | 'other'): Promise<void> {
    const isDirectory = (await this.lstat(path)).type === 'directory'
    if (isDirectory !== (kind === 'directory'))
      throw new FileError('failed', `${path}: ${isDirectory ? 'is a' : 'not a'} directory.`)
    await this.#boxyard.call('deleteFile', { path: this.#at, query: pathFields(path) })
  }

  /** Renames a file. The new name must be free unless it may overwrite. */
  async rename(from: string, to: string, { overwrite } = { overwrite: false }): Promise<void> {
    await this.#boxyard.call('moveFile', { path: this.#at, body: { ...namesOfMove(from, to), overwrite } })
  }

  /** Creates a link. */
  async link(path: string, target: string, kind: 'symbolic' | 'hard'): Promise<void> {
    await this.#checkFree(path)
    await this.#run(['ln', ...(kind === 'symbolic' ? ['-s'] : []), '--', target, path])
  }

  /** Returns limit and use of the disk or volume that holds a path. `df` only shows the whole pool. */
  space(path: string): Promise<FileSpace> {
    return spaceAt({ boxyard: this.#boxyard, box: this.#box }, path)
  }

  /** Changes attributes. */
  async change(path: string, { mode, uid, gid, mtime, sizeBytes }: FileChange): Promise<void> {
    if (sizeBytes !== undefined) await this.#run(['truncate', '-s', String(sizeBytes), path])
    if (uid !== undefined && gid !== undefined) await this.#run(['chown', `${uid}:${gid}`, path])
    // After the owner, because changing the owner removes set-user-id bits.
    if (mode !== undefined) await this.#run(['chmod', formatMode(mode), path])
    if (mtime !== undefined) await this.#run(['touch', '-c', '-d', `@${mtime}`, path])
  }

  get #at(): { project: string; name: string } {
    return { project: this.#box.project, name: this.#box.name }
  }

  /** Writes a file that must not exist yet. Returns false if it does. */
  async #make(path: string, write: (headers: Record<string, string>) => Promise<unknown>): Promise<boolean> {
    try {
      await write({ 'if-none-match': '*' })
    } catch (error) {
      if (error instanceof ApiError && error.code === 'precondition_failed') return false
      throw error
    }
    await this.#giveToUser(path)
    return true
  }

  async #checkFree(path: string): Promise<void> {
    if ((await orNull(this.lstat(path))) !== null) throw new FileError('failed', `${path}: already exists.`)
  }

  /** The API creates files for root. */
  async #giveToUser(path: string): Promise<void> {
    const { uid, gid } = this.#account
    if (uid !== 0) await this.#run(['chown', `${uid}:${gid}`, path], 'root')
  }

  async #run(command: readonly string[], user = this.#user): Promise<void> {
    const { exit_code: code, stderr } = await this.#box.run(lineOf(command), { user, cwd: '/' })
    if (code !== 0) throw failureOf(command[0] ?? '', code, stderr)
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

/** Returns a command whose arguments need not be UTF-8. A shell in the box restores them from their bytes. A pure function. */
export function lineOf(command: readonly string[]): readonly string[] {
  if (command.every(isText)) return command
  const assigned = command.flatMap((text, index) => {
    if (isText(text)) return []
    const octal = [...bytesOfText(text)].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
    // The shell would strip final new lines.
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
