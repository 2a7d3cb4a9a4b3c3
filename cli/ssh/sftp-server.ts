import { posix } from 'node:path'
import ssh2, { type Attributes } from 'ssh2'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import { pathOf } from '../../sdk/typescript/src/byte-names.ts'
import type { BoxAccount } from '../files/accounts.ts'
import { isLocalName } from '../files/local-name.ts'
import { orNull } from '../files/remote-path.ts'
import { BoxFiles, type FileChange, FileError } from './box-files.ts'
import type { SshGuest } from './guest.ts'
import { type OpenBoxFile, openToRead, openToWrite } from './open-files.ts'
import { createSftpHandles, type SftpHandles } from './sftp-handles.ts'
import { attributesOf, entryOf, nameOf, type SftpReply } from './sftp-text.ts'

/** Attributes that a client sends, or undefined if it omits them. */
export type GivenAttributes = { [Name in keyof Attributes]?: Attributes[Name] | undefined }

/** The requests of SFTP (draft-ietf-secsh-filexfer-02), called one after another. @throws ApiError, ConnectionError, FileError */
export interface SftpServer {
  open(path: string, flags: number, attrs: GivenAttributes): Promise<SftpReply>
  read(handle: Buffer, offset: number, length: number): Promise<SftpReply>
  write(handle: Buffer, offset: number, bytes: Uint8Array): Promise<SftpReply>
  close(handle: Buffer): Promise<SftpReply>
  statOpen(handle: Buffer): Promise<SftpReply>
  changeOpen(handle: Buffer, attrs: GivenAttributes): Promise<SftpReply>
  openDirectory(path: string): Promise<SftpReply>
  readDirectory(handle: Buffer): Promise<SftpReply>
  lstat(path: string): Promise<SftpReply>
  stat(path: string): Promise<SftpReply>
  change(path: string, attrs: GivenAttributes): Promise<SftpReply>
  remove(path: string, kind: 'directory' | 'other'): Promise<SftpReply>
  makeDirectory(path: string, attrs: GivenAttributes): Promise<SftpReply>
  rename(from: string, to: string): Promise<SftpReply>
  /** Renames as rename(2) does, and atomically replaces a file with the new name. */
  replace(from: string, to: string): Promise<SftpReply>
  realPath(path: string): Promise<SftpReply>
  readLink(path: string): Promise<SftpReply>
  link(path: string, target: string): Promise<SftpReply>
  hardLink(path: string, target: string): Promise<SftpReply>
  /** Returns use and limit of the disk that holds a path. */
  space(path: string): Promise<SftpReply>
  /** Releases everything that is open. Files that were written but not closed stay unchanged. */
  leave(): Promise<void>
}

/** Creates the server of one client. */
export async function createSftpServer(guest: SshGuest, account: BoxAccount): Promise<SftpServer> {
  const files = new BoxFiles(guest, guest.user(), account)
  const home = (await orNull(files.follow(account.home)))?.file.type === 'directory' ? account.home : '/'
  const absolute = (path: string): string => (path.startsWith('/') ? path : posix.join(home, path))
  const handles = createSftpHandles()
  const openFile = createOpener(guest, files)
  return {
    ...afterFilesAppeared(createPathRequests(files, absolute), handles),
    ...createHandleRequests(files, handles),
    open: async (path, flags, { mode = 0o666 }) => {
      handles.checkRoom()
      await handles.appearAll()
      return handles.addFile(await openFile(absolute(path), flags, mode & 0o7777 & ~UMASK))
    },
    openDirectory: async (path) => {
      handles.checkRoom()
      await handles.appearAll()
      const found = await files.follow(absolute(path))
      if (found.file.type !== 'directory') throw new FileError('failed', `${path}: not a directory.`)
      return handles.addDirectory(found.path)
    },
    leave: handles.leaveAll,
  }
}

type PathRequests = Omit<SftpServer, keyof HandleRequests | 'open' | 'openDirectory' | 'leave'>

function createPathRequests(files: BoxFiles, absolute: (path: string) => string): PathRequests {
  return {
    lstat: async (path) => ({ kind: 'attrs', attrs: attributesOf(await files.lstat(absolute(path))) }),
    stat: async (path) => ({ kind: 'attrs', attrs: attributesOf((await files.follow(absolute(path))).file) }),
    change: async (path, attrs) => {
      const found = await files.follow(absolute(path))
      await files.change(found.path, changeOf(attrs))
      return OK
    },
    remove: async (path, kind) => {
      await files.remove(absolute(path), kind)
      return OK
    },
    makeDirectory: async (path, { mode = 0o777 }) => {
      await files.makeDirectory(absolute(path), mode & 0o7777 & ~UMASK)
      return OK
    },
    rename: async (from, to) => {
      await files.rename(absolute(from), absolute(to))
      return OK
    },
    replace: async (from, to) => {
      await files.rename(absolute(from), absolute(to), { overwrite: true })
      return OK
    },
    // Uses only the text, because the client asks about the path that its user has typed.
    realPath: async (path) => ({ kind: 'names', names: [nameOf(posix.resolve(absolute(path)))] }),
    readLink: async (path) => {
      const { target, size_bytes: sizeBytes } = await files.lstat(absolute(path))
      if (target === null) throw new FileError('failed', `${path}: not a link.`)
      if (Buffer.byteLength(target) !== sizeBytes)
        throw new FileError('failed', `${path}: links to a name that is not UTF-8.`)
      return { kind: 'names', names: [nameOf(target)] }
    },
    link: async (path, target) => {
      await files.link(absolute(path), target, 'symbolic')
      return OK
    },
    hardLink: async (path, target) => {
      await files.link(absolute(path), absolute(target), 'hard')
      return OK
    },
    space: async (path) => ({ kind: 'space', space: await files.space((await files.follow(absolute(path))).path) }),
  }
}

/** Returns the same requests, but first makes the files that are being written appear in the box, as other programs would see them. */
function afterFilesAppeared(requests: PathRequests, handles: SftpHandles): PathRequests {
  const later = Object.entries(requests).map(([name, request]) => [
    name,
    async (...given: unknown[]) => {
      if (name !== 'realPath') await handles.appearAll()
      return (request as (...given: unknown[]) => Promise<SftpReply>)(...given)
    },
  ])
  return Object.fromEntries(later) as PathRequests
}

type HandleRequests = Pick<SftpServer, 'read' | 'write' | 'close' | 'statOpen' | 'changeOpen' | 'readDirectory'>

function createHandleRequests(files: BoxFiles, handles: SftpHandles): HandleRequests {
  return {
    read: async (handle, offset, length) => {
      const bytes = await handles.file(handle).read(offset, Math.min(length, READ_MAX_BYTES))
      return bytes.length === 0 ? END : { kind: 'data', bytes }
    },
    write: async (handle, offset, bytes) => {
      await handles.file(handle).write(offset, bytes)
      return OK
    },
    close: async (handle) => {
      await handles.take(handle)?.close()
      return OK
    },
    statOpen: async (handle) => ({ kind: 'attrs', attrs: attributesOf(await handles.file(handle).stat()) }),
    changeOpen: async (handle, attrs) => {
      await handles.file(handle).change(changeOf(attrs))
      return OK
    },
    readDirectory: async (handle) => {
      const directory = handles.directory(handle)
      while (directory.names.length === 0 && directory.next !== undefined) {
        const page = await files.list(directory.path, directory.next)
        // A client that copies a directory creates files of these names.
        directory.names.push(...page.files.filter((file) => isLocalName(pathOf(file))).map(entryOf))
        directory.next = page.next ?? undefined
      }
      const names = directory.names.splice(0, NAMES_AT_ONCE)
      return names.length === 0 ? END : { kind: 'names', names }
    },
  }
}

type Opener = (path: string, flags: number, mode: number) => Promise<OpenBoxFile>

function createOpener(guest: SshGuest, files: BoxFiles): Opener {
  return async (path, flags, mode) => {
    const has = (flag: number): boolean => (flags & flag) !== 0
    if (!has(OPEN.WRITE)) return openToRead(guest, files, path)
    const opening = { path, mode, isAppended: has(OPEN.APPEND), draftPath: guest.drafts.newPath() }
    if (has(OPEN.CREAT) && has(OPEN.TRUNC) && !has(OPEN.EXCL))
      return openToWrite(guest.box, files, { ...opening, content: 'replaced' })
    const isNew = has(OPEN.CREAT) && (await files.create(path, mode))
    if (has(OPEN.EXCL) && !isNew) throw new FileError('failed', `${path}: already exists.`)
    if (!isNew) await files.checkFile(path)
    const content = isNew ? 'new' : has(OPEN.TRUNC) ? 'replaced' : 'kept'
    return openToWrite(guest.box, files, { ...opening, content })
  }
}

/** Returns the status code and message for an error. */
export function statusOf(error: unknown): { code: number; message: string } {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof FileError) return { code: CODES[error.kind], message }
  if (!(error instanceof ApiError)) return { code: STATUS.FAILURE, message }
  if (error.code === 'file_not_found' || error.code === 'not_a_directory') return { code: STATUS.NO_SUCH_FILE, message }
  return { code: error.status === 403 ? STATUS.PERMISSION_DENIED : STATUS.FAILURE, message }
}

function changeOf({ mode, uid, gid, mtime, size }: GivenAttributes): FileChange {
  return { mode: mode === undefined ? undefined : mode & 0o7777, uid, gid, mtime, sizeBytes: size }
}

const OPEN = ssh2.utils.sftp.OPEN_MODE
const STATUS = ssh2.utils.sftp.STATUS_CODE
const OK: SftpReply = { kind: 'status', code: STATUS.OK }
const END: SftpReply = { kind: 'status', code: STATUS.EOF }
const CODES: Readonly<Record<FileError['kind'], number>> = {
  denied: STATUS.PERMISSION_DENIED,
  unsupported: STATUS.OP_UNSUPPORTED,
  failed: STATUS.FAILURE,
}
/** The prefix that shells use. */
const UMASK = 0o022
/** Keeps answers below the 256 KiB that clients accept. */
const READ_MAX_BYTES = 128 * 1024
const NAMES_AT_ONCE = 100
