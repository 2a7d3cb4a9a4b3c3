import { ServiceError } from '../../../shared/errors.ts'

/** One command of a stream of `btrfs send`, less what a reader of names has no use for. Paths have one character for each byte. */
export interface SendCommand {
  /** Of `SEND`, or one that is not known here. */
  code: number
  path: string | null
  pathTo: string | null
  pathLink: string | null
  /** When what is in the file was last modified, of `SEND.UTIMES`. */
  modified: SendTime | null
}

export interface SendTime {
  seconds: bigint
  nanoseconds: number
}

/** Takes a stream in pieces of any length, and gives away its commands. */
export interface SendReader {
  /**
   * Gives away every command that is whole by now. What is kept of a piece is at most one command.
   * @throws SendStreamError for what is no such stream, or has a command above 1 MiB
   */
  push(piece: Buffer): void
  /** Told that nothing more comes. @throws SendStreamError for a stream that was cut off */
  end(): void
}

/** What was read is not a whole stream of `btrfs send`. */
export class SendStreamError extends Error {
  override readonly name = 'SendStreamError'
}

/** Reads a stream of `btrfs send`, of any version; what comes after its end is dropped. A checksum is not looked at. */
export function createSendReader(take: (command: SendCommand) => void): SendReader {
  let kept: Buffer = Buffer.alloc(0)
  let hasHead = false
  let hasEnded = false
  /** How many bytes were used of `buffer`, which has what was kept and the piece. */
  const readAll = (buffer: Buffer): number => {
    let at = 0
    if (!hasHead) {
      if (buffer.length < HEAD_BYTES) return 0
      if (buffer.toString('latin1', 0, MAGIC.length) !== MAGIC) throw new SendStreamError('no stream of btrfs send')
      hasHead = true
      at = HEAD_BYTES
    }
    while (!hasEnded && buffer.length - at >= COMMAND_HEAD_BYTES) {
      const length = buffer.readUInt32LE(at)
      if (length > COMMAND_BYTES_MAX) throw new SendStreamError(`a command of ${length} bytes`)
      const start = at + COMMAND_HEAD_BYTES
      if (buffer.length - start < length) break
      const command = decodeCommand(buffer.readUInt16LE(at + 4), buffer.subarray(start, start + length))
      at = start + length
      hasEnded = command.code === SEND.END
      take(command)
    }
    return at
  }
  return {
    push: (piece) => {
      if (hasEnded) return
      const buffer = kept.length === 0 ? piece : Buffer.concat([kept, piece])
      kept = buffer.subarray(readAll(buffer))
    },
    end: () => {
      if (!hasEnded) throw new SendStreamError('the stream was cut off')
    },
  }
}

function decodeCommand(code: number, bytes: Buffer): SendCommand {
  const command: SendCommand = { code, path: null, pathTo: null, pathLink: null, modified: null }
  for (let at = 0; at < bytes.length; ) {
    if (bytes.length - at < ATTRIBUTE_HEAD_BYTES) throw new SendStreamError('a cut attribute')
    const kind = bytes.readUInt16LE(at)
    const start = at + ATTRIBUTE_HEAD_BYTES
    // From version 2 on, data has no length of its own: it is what is left.
    if (kind === ATTRIBUTE.DATA) break
    const end = start + bytes.readUInt16LE(at + 2)
    if (end > bytes.length) throw new SendStreamError('a cut attribute')
    if (kind === ATTRIBUTE.PATH) command.path = bytes.toString('latin1', start, end)
    else if (kind === ATTRIBUTE.PATH_TO) command.pathTo = bytes.toString('latin1', start, end)
    else if (kind === ATTRIBUTE.PATH_LINK) command.pathLink = bytes.toString('latin1', start, end)
    else if (kind === ATTRIBUTE.MTIME && end - start === TIME_BYTES) command.modified = decodeTime(bytes, start)
    at = end
  }
  return command
}

function decodeTime(bytes: Buffer, at: number): SendTime {
  return { seconds: bytes.readBigInt64LE(at), nanoseconds: bytes.readUInt32LE(at + 8) }
}

/**
 * Makes the error of a failed `btrfs send` from its stderr. Send fails on paths of more than 4,095 bytes, which a box can create
 * directory by directory.
 */
export function sendFault(complaint: string): Error {
  const cause = new Error(`btrfs send failed: ${complaint}`)
  if (!complaint.includes(`failed with -${ENAMETOOLONG}:`)) return cause
  const detail = 'There is a path of more than 4,095 bytes, which can be neither compared nor backed up.'
  return new ServiceError('path_invalid', detail, { cause })
}

/** Codes of commands, of linux/fs/btrfs/send.h. */
export const SEND = {
  SUBVOLUME: 1,
  SNAPSHOT: 2,
  MKFILE: 3,
  MKDIR: 4,
  MKNOD: 5,
  MKFIFO: 6,
  MKSOCK: 7,
  SYMLINK: 8,
  RENAME: 9,
  LINK: 10,
  UNLINK: 11,
  RMDIR: 12,
  SET_XATTR: 13,
  REMOVE_XATTR: 14,
  WRITE: 15,
  CLONE: 16,
  TRUNCATE: 17,
  CHMOD: 18,
  CHOWN: 19,
  UTIMES: 20,
  END: 21,
  UPDATE_EXTENT: 22,
  FALLOCATE: 23,
  FILEATTR: 24,
  ENCODED_WRITE: 25,
  ENABLE_VERITY: 26,
} as const

const ATTRIBUTE = { MTIME: 10, PATH: 15, PATH_TO: 16, PATH_LINK: 17, DATA: 19 } as const
const MAGIC = 'btrfs-stream\0'
const HEAD_BYTES = 17
const COMMAND_HEAD_BYTES = 10
const COMMAND_BYTES_MAX = 1024 * 1024
const ATTRIBUTE_HEAD_BYTES = 4
const TIME_BYTES = 12
const ENAMETOOLONG = 36
