import { ServiceError } from '../../../shared/errors.ts'
import { ProgramError } from '../../lib/program-error.ts'

/** A command of a stream of `btrfs send`, with the attributes that concern names. Paths have one character for each byte. */
export interface SendCommand {
  /** A code of `SEND`, or an unknown one. */
  code: number
  path: string | null
  pathTo: string | null
  pathLink: string | null
  /** Modification time of the file, of `SEND.UTIMES`. */
  modified: SendTime | null
}

export interface SendTime {
  seconds: bigint
  nanoseconds: number
}

/** Decodes a stream that comes in pieces of any length. */
export interface SendReader {
  /**
   * Decodes every command that is complete by now. Buffers at most one incomplete command.
   * @throws SendStreamError for an invalid stream, or a command above 1 MiB
   */
  push(piece: Buffer): void
  /** Ends the stream. @throws SendStreamError if it is incomplete */
  end(): void
}

/** An invalid or incomplete stream of `btrfs send`. */
export class SendStreamError extends Error {
  override readonly name = 'SendStreamError'
}

/** Creates a decoder of `btrfs send` streams of any version. Ignores bytes after the end, and checksums. */
export function createSendReader(take: (command: SendCommand) => void): SendReader {
  let rest: Buffer = Buffer.alloc(0)
  let hasHead = false
  let hasEnded = false
  /** Decodes the complete commands in `buffer`, and returns the number of bytes consumed. */
  const decodeAll = (buffer: Buffer): number => {
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
      const buffer = rest.length === 0 ? piece : Buffer.concat([rest, piece])
      rest = buffer.subarray(decodeAll(buffer))
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
    // From version 2 on, data has no length of its own, because it is the rest of the command.
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
 * Creates the error of a failed `btrfs send` from its stderr. Send fails on paths of more than 4,095 bytes, which a box can create
 * directory by directory.
 */
export function sendFault(errorText: string): Error {
  const cause = new ProgramError(`btrfs send failed: ${errorText}`, errorText)
  if (!errorText.includes(`failed with -${ENAMETOOLONG}:`)) return cause
  const detail = 'There is a path of more than 4,095 bytes, which can be neither compared nor backed up.'
  return new ServiceError('path_invalid', detail, { cause })
}

/** Codes of commands, from linux/fs/btrfs/send.h. */
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
