import { rawBytesOf, removeAt } from './files.ts'
import { checked, isErrno, lazyNative } from './libc.ts'
import { AT } from './mounts.ts'

/** A directory entry as getdents64(2) returns it, before any stat. */
export interface RawEntry {
  /** Name, one character per byte (latin1). */
  name: string
  /** True for a directory. Null if the filesystem does not report the kind. */
  isDirectory: boolean | null
}

/** Reads the next entries of the directory `fd` into `buffer`, without `.` and `..`. Returns null at its end. */
export function readEntries(fd: number, buffer: Buffer): RawEntry[] | null {
  const entries: RawEntry[] = []
  const isMore = visitEntries(fd, buffer, (name, kind) => {
    entries.push({ name, isDirectory: kind === UNKNOWN ? null : kind === DIRECTORY })
  })
  return isMore ? entries : null
}

/** Removes an entry that is not a directory. Succeeds if it is gone. Returns false for a directory. */
export function removeFile(fd: number, { name, isDirectory }: RawEntry): boolean {
  if (isDirectory === true) return false
  try {
    removeAt(fd, rawBytesOf(name))
  } catch (error) {
    if (isErrno(error, 'EISDIR')) return false
    if (!isErrno(error, 'ENOENT')) throw error
  }
  return true
}

/** Like `readEntries`, but returns only the names. */
export function readNames(fd: number, buffer: Buffer): string[] | null {
  const names: string[] = []
  return visitEntries(fd, buffer, (name) => names.push(name)) ? names : null
}

function visitEntries(fd: number, buffer: Buffer, visit: (name: string, kind: number | undefined) => void): boolean {
  const length = checked(getdents64()(fd, buffer, buffer.length), 'getdents64')
  for (let start = 0; start < length; ) {
    const size = buffer.readUInt16LE(start + 16)
    const nameStart = start + NAME_OFFSET
    // Entries are padded, so the name's terminating zero is within the last 8 bytes.
    const name = buffer.toString('latin1', nameStart, buffer.indexOf(0, Math.max(nameStart, start + size - 8)))
    if (name !== '.' && name !== '..') visit(name, buffer[start + 18])
    start += size
  }
  return length > 0
}

/** Links the file behind `fd`, which may have no name yet (O_TMPFILE), as `name` in `directoryFd`. EEXIST if that name is taken. */
export function linkFd(fd: number, directoryFd: number, name: string | Buffer): void {
  checked(linkat()(fd, '', directoryFd, name, AT.EMPTY_PATH), 'linkat', name)
}

/** Like `linkFd`, but for the entry `fromName` in `fromFd`. A symlink is linked itself, not followed. */
export function linkAt(fromFd: number, fromName: string | Buffer, to: { fd: number; name: string | Buffer }): void {
  checked(linkat()(fromFd, fromName, to.fd, to.name, 0), 'linkat', to.name)
}

/** Makes a symlink `name` in `directoryFd` to `target`. Both are strings, or bytes that end with a zero. */
export function symlinkAt(target: string | Buffer, directoryFd: number, name: string | Buffer): void {
  checked(symlinkat()(target, directoryFd, name), 'symlinkat', name)
}

/** Changes the permissions of the file behind `fd`, which must not be open with `O.PATH`. */
export function changeMode(fd: number, mode: number): void {
  checked(fchmod()(fd, mode), 'fchmod')
}

/** Syncs the file behind `fd` to disk. Blocks. */
export function syncFd(fd: number): void {
  checked(fsync()(fd), 'fsync')
}

const NAME_OFFSET = 19
const UNKNOWN = 0
const DIRECTORY = 4

const getdents64 = lazyNative<(fd: number, buffer: Buffer, size: number) => number>(null, 'getdents64', {
  result: 'long',
  args: ['int', 'void *', 'ulong'],
})
const linkat = lazyNative<
  (fromFd: number, fromName: string | Buffer, toFd: number, toName: string | Buffer, flags: number) => number
>(null, 'linkat', { result: 'int', args: ['int', 'str', 'int', 'str', 'int'] })
const symlinkat = lazyNative<(target: string | Buffer, fd: number, name: string | Buffer) => number>(
  null,
  'symlinkat',
  { result: 'int', args: ['str', 'int', 'str'] },
)
const fchmod = lazyNative<(fd: number, mode: number) => number>(null, 'fchmod', {
  result: 'int',
  args: ['int', 'uint'],
})
const fsync = lazyNative<(fd: number) => number>(null, 'fsync', { result: 'int', args: ['int'] })
