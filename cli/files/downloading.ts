import { spawn } from 'node:child_process'
import { chmodSync, lstatSync, mkdirSync, readdirSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Meter, metered } from '../output/meter.ts'
import { withTemporaryBeside } from './temporary.ts'

/** Writes a file of this machine: all of it, or nothing. What is no regular file, such as `/dev/null`, is written to as it is. */
export async function saveFile(
  path: string,
  bytes: ReadableStream<Uint8Array>,
  { mode, meter }: { mode: number; meter: Meter },
): Promise<void> {
  const there = statSync(path, { throwIfNoEntry: false })
  if (there !== undefined && !there.isFile()) return writeAll(path, bytes, meter)
  // The file that a link leads to is replaced, not the link.
  const target = there === undefined ? resolve(path) : realpathSync(path)
  await withTemporaryBeside(target, async (temporary) => {
    await writeAll(temporary, bytes, meter)
    chmodSync(temporary, mode)
    renameSync(temporary, target)
  })
}

/** Unpacks a tar as a directory of this machine, which is there once all of it is; into one that is there each entry comes so. */
export async function saveTree(
  path: string,
  archive: ReadableStream<Uint8Array>,
  { mode, meter }: { mode: number; meter: Meter },
): Promise<void> {
  const target = resolve(path)
  await withTemporaryBeside(target, async (temporary) => {
    mkdirSync(temporary, { recursive: true, mode: 0o700 })
    const args = ['-x', '-p', '--no-same-owner', '-C', temporary]
    const tar = spawn('tar', args, { stdio: ['pipe', 'inherit', 'inherit'] })
    await Promise.all([pipeline(Readable.from(metered(archive, meter)), tar.stdin), endOf(tar)])
    const isThere = statSync(target, { throwIfNoEntry: false }) !== undefined
    if (isThere) return mergeInto(temporary, target)
    chmodSync(temporary, mode)
    renameSync(temporary, target)
  })
}

/** Moves all that is in a directory into another, whose own directories stay, and take the modes of those that come. */
function mergeInto(from: string, to: string): void {
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    const there = lstatSync(target, { throwIfNoEntry: false })
    if (entry.isDirectory() && there?.isDirectory() === true) {
      mergeInto(source, target)
      chmodSync(target, statSync(source).mode & 0o7777)
    } else {
      if (there?.isDirectory() === true) throw new Error(`${target} is a directory, and would become a file.`)
      if (entry.isDirectory() && there !== undefined) rmSync(target)
      renameSync(source, target)
    }
  }
}

async function writeAll(path: string, bytes: AsyncIterable<Uint8Array>, meter: Meter): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    let pieces: Uint8Array[] = []
    let held = 0
    // The next pieces are gathered while those before are written.
    let writing = Promise.resolve()
    for await (const piece of metered(bytes, meter)) {
      pieces.push(piece)
      held += piece.length
      if (held < WRITE_BYTES) continue
      await writing
      writing = writeWhole(file, pieces)
      writing.catch(() => undefined)
      pieces = []
      held = 0
    }
    await writing
    await writeWhole(file, pieces)
  } finally {
    await file.close()
  }
}

async function writeWhole(file: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  const { bytesWritten } = await file.writev(pieces)
  let left = bytesWritten
  for (const piece of pieces) {
    if (left < piece.length) await file.writeFile(piece.subarray(left))
    left = Math.max(0, left - piece.length)
  }
}

function endOf(child: ReturnType<typeof spawn>): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`tar ended with code ${code}.`))))
  })
}

const WRITE_BYTES = 1024 * 1024
