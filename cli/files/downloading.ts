import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { textOfBytes } from '../../sdk/typescript/src/byte-names.ts'
import { type Meter, metered } from '../output/meter.ts'
import { startProgram } from '../programs.ts'
import { checkLocalName } from './local-name.ts'
import { isOpenDescriptor, systemPath } from './local-places.ts'
import { specialKindOf } from './special-files.ts'
import { withTemporaryBeside } from './temporary.ts'

export interface Saving {
  /** Permission bits that the box reported. */
  mode: number
  /** Keeps set-user-id, set-group-id and sticky bits, and the bits that the umask removes. */
  preserves: boolean
  meter: Meter
  /** Called for each device, FIFO or socket in the copy, which it omits. */
  onLeftOut?(path: string, kind: string): void
}

/**
 * Writes a local file: all of it, or nothing. Replaces a link at the path instead of following it, because an earlier copy may have brought
 * it. Writes into a special file, such as `/dev/null`.
 */
export async function saveFile(path: string, bytes: ReadableStream<Uint8Array>, saving: Saving): Promise<void> {
  const { meter } = saving
  const there = statSync(path, { throwIfNoEntry: false })
  if (isOpenDescriptor(path) || (there !== undefined && !there.isFile())) return writeAll(path, bytes, meter)
  const target = resolve(path)
  await withTemporaryBeside(target, async (temporary) => {
    await writeAll(temporary, bytes, meter)
    chmodSync(temporary, modeHere(saving))
    renameSync(temporary, target)
  })
}

/** Creates a local symbolic link. Replaces a link or file of this name. @throws Error if a directory has the name */
export async function saveLink(path: string, text: string): Promise<void> {
  const target = resolve(path)
  if (lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new Error(`${target} is a directory, so a link cannot replace it.`)
  await withTemporaryBeside(target, (temporary) => {
    symlinkSync(text, temporary)
    renameSync(temporary, target)
    return Promise.resolve()
  })
}

/** Unpacks a tar as a local directory, which appears once it is complete. Into an existing directory, moves each entry this way. */
export async function saveTree(path: string, archive: ReadableStream<Uint8Array>, saving: Saving): Promise<void> {
  const target = resolve(path)
  // Into an existing directory. Its parent may not be writable, as for the user's home directory.
  const isInto = lstatSync(target, { throwIfNoEntry: false })?.isDirectory() === true
  await withTemporaryBeside(isInto ? join(target, 'copy') : target, async (temporary) => {
    // Accessible only to the user. No program in it can run before the modes are right.
    mkdirSync(temporary, { recursive: true, mode: 0o700 })
    const options = [saving.preserves ? '-p' : '--no-same-permissions', '--no-same-owner', '-x', '-C', temporary]
    const tar = startProgram({ program: 'tar', options, operands: [] }, { stdio: ['pipe', 'inherit', 'inherit'] })
    if (tar.stdin === null) throw new Error('tar has no input.')
    await Promise.all([pipeline(Readable.from(metered(archive, saving.meter)), tar.stdin), endOf(tar)])
    cleanTree(temporary, '', saving)
    const there = lstatSync(target, { throwIfNoEntry: false })
    if (there?.isDirectory() === true) return mergeInto(temporary, target)
    if (there?.isFile() === true) throw new Error(`${target} is a file, so a directory cannot replace it.`)
    if (there !== undefined) rmSync(target)
    chmodSync(temporary, modeHere(saving))
    renameSync(temporary, target)
  })
}

/** Removes what a copy must not bring: devices, FIFOs, sockets, and unless the user asked for them, the bits beyond permissions. */
function cleanTree(root: string, directory: string, saving: Pick<Saving, 'preserves' | 'onLeftOut'>): void {
  for (const name of readdirSync(systemPath(join(root, directory)), { encoding: 'buffer' })) {
    const below = join(directory, checkLocalName(textOfBytes(name)))
    const path = systemPath(join(root, below))
    const stats = lstatSync(path)
    if (stats.isSymbolicLink()) continue
    if (!stats.isDirectory() && !stats.isFile()) {
      rmSync(path)
      saving.onLeftOut?.(below, specialKindOf(stats) ?? 'block')
      continue
    }
    if (!saving.preserves && (stats.mode & SPECIAL_BITS) !== 0) chmodSync(path, stats.mode & 0o777)
    const mode = stats.mode & (saving.preserves ? 0o7777 : 0o777)
    if (stats.isDirectory()) withEntry(path, mode, () => cleanTree(root, below, saving))
  }
}

/** Does `work` in a directory whose own mode may forbid entering or changing it. */
function withEntry(path: string | Buffer, mode: number, work: () => void): void {
  const isOpen = (mode & 0o700) === 0o700
  if (!isOpen) chmodSync(path, mode | 0o700)
  work()
  if (!isOpen) chmodSync(path, mode)
}

/** Moves all entries of a directory into another. Existing directories there stay, and get the modes of the moved ones. */
function mergeInto(from: string, to: string): void {
  for (const entry of readdirSync(systemPath(from), { withFileTypes: true, encoding: 'buffer' })) {
    const name = textOfBytes(entry.name)
    const [sourceText, targetText] = [join(from, name), join(to, name)]
    const [source, target] = [systemPath(sourceText), systemPath(targetText)]
    const there = lstatSync(target, { throwIfNoEntry: false })
    if (entry.isDirectory() && there?.isDirectory() === true) {
      mergeInto(sourceText, targetText)
      chmodSync(target, statSync(source).mode & 0o7777)
    } else {
      if (there?.isDirectory() === true) throw new Error(`${targetText} is a directory, so a file cannot replace it.`)
      if (entry.isDirectory() && there !== undefined) rmSync(target)
      renameSync(source, target)
    }
  }
}

function modeHere({ mode, preserves }: Pick<Saving, 'mode' | 'preserves'>): number {
  return preserves ? mode & 0o7777 : mode & 0o777 & ~currentUmask()
}

/** Reads the umask, which is only possible by setting another one. */
function currentUmask(): number {
  const mask = process.umask(0o077)
  process.umask(mask)
  return mask
}

async function writeAll(path: string, bytes: AsyncIterable<Uint8Array>, meter: Meter): Promise<void> {
  const file = await open(path, 'w', 0o600)
  try {
    let pieces: Uint8Array[] = []
    let held = 0
    // Collects the next pieces while the previous ones are being written.
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

function endOf(child: ReturnType<typeof startProgram>): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`tar exited with code ${code}.`))))
  })
}

const WRITE_BYTES = 1024 * 1024
/** Set-user-id, set-group-id and sticky. */
const SPECIAL_BITS = 0o7000
