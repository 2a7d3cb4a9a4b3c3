import { ServiceError } from '../../shared/errors.ts'
import type { Logger } from '../../shared/log.ts'
import { execFile, makeExecDirectory } from '../drivers/exec/files.ts'
import type { ExecFiles } from '../drivers/exec/shim-protocol.ts'
import type { OutputSink } from '../lib/output/collector.ts'
import { OutputRing } from '../lib/output/ring.ts'
import { isErrno } from '../lib/syscalls/libc.ts'
import type { OutputPlace } from '../ports/exec/outputs.ts'
import type { KeptOutput } from './attached-client.ts'

/** What is kept of the output of a command, in its files. */
export interface Rings {
  stdout: OutputRing
  stderr: OutputRing
}

/** Makes the files. Throws `storage_full` where there is no room for them. */
export function openRings(files: ExecFiles, place: OutputPlace): Rings {
  const open = (stream: 'stdout' | 'stderr'): OutputRing => {
    const path = execFile(files.directory, place, stream)
    return new OutputRing({ path, capacity: files.keptBytes, memoryBytes: 0 })
  }
  let stdout: OutputRing | null = null
  try {
    makeExecDirectory(files.directory, place.boxId)
    stdout = open('stdout')
    return { stdout, stderr: open('stderr') }
  } catch (error) {
    stdout?.close()
    if (!isErrno(error, 'ENOSPC', 'EDQUOT')) throw error
    throw new ServiceError('storage_full', 'The host has no room for the output of a command.', { cause: error })
  }
}

/**
 * The stream of a ring, whose last piece is in memory too while it `isWanted`: who keeps up with the stream needs no file,
 * and misses nothing where the disk takes no more.
 */
export function withTail(ring: OutputRing, isWanted: () => boolean): OutputSink & KeptOutput {
  let tail: Buffer = NOTHING
  let tailFrom = 0
  return {
    get totalBytes() {
      return ring.totalBytes
    },
    get isSealed() {
      return ring.isSealed
    },
    seal: () => ring.seal(),
    push: (chunk) => {
      tailFrom = ring.totalBytes
      tail = isWanted() ? chunk : NOTHING
      ring.push(chunk)
    },
    read: (offset, maxBytes) => {
      const start = offset - tailFrom
      if (start < 0 || start >= tail.length) return ring.read(offset, maxBytes)
      return { offset, bytes: tail.subarray(start, start + maxBytes) }
    },
  }
}

/** Makes what was written durable; where that fails it is logged. */
export async function syncRings({ stdout, stderr }: Rings, logger: Logger): Promise<void> {
  try {
    await Promise.all([stdout.sync(), stderr.sync()])
  } catch (error) {
    logger.error('output of a command may not survive a power cut', { error })
  }
}

/** Lets go of the files, which go with the command, at the latest when the agent looks for files of none. */
export function closeRings({ stdout, stderr }: Rings): void {
  stdout.close()
  stderr.close()
}

const NOTHING = Buffer.alloc(0)
