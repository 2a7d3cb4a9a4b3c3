import { closeFd } from '../../lib/syscalls/descriptors.ts'
import { readFd } from '../../lib/syscalls/files.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { listAttributes, readAttribute } from '../../lib/syscalls/metadata.ts'
import type { FileStat } from '../../lib/syscalls/stat.ts'
import type { Steps, TaskIo } from '../../lib/threads/task.ts'
import { kindOf } from '../files/facts.ts'
import type { RawPath } from '../files/paths.ts'
import type { TreeReader } from './tree-reader.ts'

/** Compares entries of two trees. */
export interface EntryComparison {
  /**
   * Returns true if an entry of the earlier tree and one of the later are the same, as after a restore of the file. Compares type,
   * permissions, owner and attributes, and except for directories, content and modification time. Returns false for devices, for data that
   * the disk cannot read, and beyond `COMPARED_BYTES_MAX` in all.
   */
  isSame(io: Pick<TaskIo, 'mustPause'>, before: RawPath, after: RawPath): Steps<boolean>
}

/** Creates a comparison of two trees that do not change. */
export function createEntryComparison({ earlier, later }: Record<'earlier' | 'later', TreeReader>): EntryComparison {
  let bytesLeft = COMPARED_BYTES_MAX
  return {
    *isSame(io, before, after) {
      const [was, is] = [earlier.stat(before), later.stat(after)]
      const type = kindOf(is)
      if (!haveSameFacts(was, is) || (type !== 'directory' && !haveSameTime(was, is))) return false
      if (type === 'symlink') return Buffer.compare(earlier.readLink(before), later.readLink(after)) === 0
      if (type !== 'file' && type !== 'directory') return type === 'fifo' || type === 'socket'
      if (type === 'file' && (was.sizeBytes !== is.sizeBytes || is.sizeBytes > bytesLeft)) return false
      const fds: number[] = []
      try {
        fds.push(earlier.open(before))
        fds.push(later.open(after))
        const [wasFd = -1, isFd = -1] = fds
        if (!haveSameAttributes(wasFd, isFd)) return false
        if (type === 'directory') return true
        bytesLeft -= is.sizeBytes
        return yield* haveSameContent(io, wasFd, isFd)
      } catch (error) {
        // A comparison that looks for damage must not end because of it.
        if (isErrno(error, 'EIO', 'EUCLEAN')) return false
        throw error
      } finally {
        for (const fd of fds) closeFd(fd)
      }
    },
  }
}

function haveSameFacts(was: FileStat, is: FileStat): boolean {
  return was.mode === is.mode && was.uid === is.uid && was.gid === is.gid
}

function haveSameTime(was: FileStat, is: FileStat): boolean {
  return was.modifiedSeconds === is.modifiedSeconds && was.modifiedNanoseconds === is.modifiedNanoseconds
}

function haveSameAttributes(wasFd: number, isFd: number): boolean {
  const [was, is] = [attributesOf(wasFd), attributesOf(isFd)]
  return was.size === is.size && [...was].every(([name, value]) => is.get(name)?.equals(value) === true)
}

function attributesOf(fd: number): Map<string, Buffer> {
  // Copies the value, since the next read reuses the buffer.
  return new Map(listAttributes(fd).map((name) => [name, Buffer.from(readAttribute(fd, name))]))
}

// Both files are complete and do not change, so that each read of a local file fills its buffer, except the last.
function* haveSameContent(io: Pick<TaskIo, 'mustPause'>, wasFd: number, isFd: number): Steps<boolean> {
  for (;;) {
    const [wasBytes, isBytes] = [readFd(wasFd, WAS), readFd(isFd, IS)]
    if (wasBytes !== isBytes || WAS.compare(IS, 0, isBytes, 0, wasBytes) !== 0) return false
    if (isBytes === 0) return true
    if (io.mustPause()) yield 'turn'
  }
}

/** Bytes to read of either tree for one comparison. Few files have replacements of the same size and time. */
const COMPARED_BYTES_MAX = 64 * 1024 ** 2
// Reused, because comparisons of a thread take turns, and each turn fills and compares both.
const WAS = Buffer.alloc(256 * 1024)
const IS = Buffer.alloc(256 * 1024)
