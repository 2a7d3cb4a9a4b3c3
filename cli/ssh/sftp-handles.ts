import type { FileEntry } from 'ssh2'
import { FileError } from './box-files.ts'
import type { OpenBoxFile } from './open-files.ts'
import type { SftpReply } from './sftp-text.ts'

/** A directory that a client reads. */
export interface ReadDirectory {
  path: string
  /** Entries that are known but not sent yet. */
  names: FileEntry[]
  /** Where the next page begins: null for the first page, undefined after the last. */
  next: string | null | undefined
}

/** Open files and directories of an SFTP client. @throws FileError for a handle that is invalid or of the other kind */
export interface SftpHandles {
  checkRoom(): void
  addFile(file: OpenBoxFile): SftpReply
  addDirectory(path: string): SftpReply
  file(handle: Buffer): OpenBoxFile
  directory(handle: Buffer): ReadDirectory
  /** Creates the files that were opened to be created, for a request that names one by its path. */
  appearAll(): Promise<void>
  /** Removes a handle, and returns its file, or null for a directory. */
  take(handle: Buffer): OpenBoxFile | null
  leaveAll(): Promise<void>
}

export function createSftpHandles(): SftpHandles {
  const open = new Map<number, { file: OpenBoxFile } | { directory: ReadDirectory }>()
  let last = 0
  const add = (one: { file: OpenBoxFile } | { directory: ReadDirectory }): SftpReply => {
    last = (last + 1) % 2 ** 32
    open.set(last, one)
    const handle = Buffer.alloc(HANDLE_BYTES)
    handle.writeUInt32BE(last)
    return { kind: 'handle', handle }
  }
  const files = (): OpenBoxFile[] => [...open.values()].flatMap((one) => ('file' in one ? [one.file] : []))
  const numberOf = (handle: Buffer): number => (handle.length === HANDLE_BYTES ? handle.readUInt32BE() : -1)
  return {
    checkRoom: () => {
      if (open.size >= OPEN_MAX) throw new FileError('failed', `Too many open files. The limit is ${OPEN_MAX}.`)
    },
    addFile: (file) => add({ file }),
    addDirectory: (path) => add({ directory: { path, names: [], next: null } }),
    file: (handle) => {
      const one = open.get(numberOf(handle))
      if (one === undefined || !('file' in one)) throw notOpen()
      return one.file
    },
    directory: (handle) => {
      const one = open.get(numberOf(handle))
      if (one === undefined || !('directory' in one)) throw notOpen()
      return one.directory
    },
    take: (handle) => {
      const number = numberOf(handle)
      const one = open.get(number)
      if (one === undefined) throw notOpen()
      open.delete(number)
      return 'file' in one ? one.file : null
    },
    // Each reports its own failure when it is closed.
    appearAll: async () => void (await Promise.allSettled(files().map((file) => file.appear()))),
    leaveAll: async () => {
      const left = files()
      open.clear()
      await Promise.allSettled(left.map((file) => file.leave()))
    },
  }
}

function notOpen(): FileError {
  return new FileError('failed', 'The handle is not open.')
}

const HANDLE_BYTES = 4
const OPEN_MAX = 1024
