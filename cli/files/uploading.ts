import { realpathSync, statSync } from 'node:fs'
import { basename, dirname, join, posix } from 'node:path'
import { ApiError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle, Boxyard } from '../../sdk/typescript/src/boxyard.ts'
import type { SizedStream } from '../../sdk/typescript/src/calls.ts'
import type { UploadBody } from '../../sdk/typescript/src/doors.ts'
import { type Meter, metered } from '../output/meter.ts'
import { shellWord } from '../output/shell-word.ts'
import { describeInput, pipeDescriptorOf, readInput, readPipe, readStdin } from './local-input.ts'
import { describeLocal, scanTree } from './local-tree.ts'
import type { Packing } from './packing.ts'
import { describeRemote, formatMode } from './remote-path.ts'
import { SilentInputError, SlowInput, wasSilent } from './slow-input.ts'
import { unpackIn } from './unpacking.ts'

/** Destination of an upload. */
export interface UploadTarget {
  boxyard: Boxyard
  box: BoxHandle
  /** Absolute path in the box. */
  path: string
  /** Whether to create missing directories above it. */
  parents: boolean
  meter: Meter
  /** Called for what is neither file, directory nor link. The upload omits it. */
  onLeftOut(path: string, kind: string): void
}

/** Sends a file with its mode, a pipe of the shell, or stdin (null). The box gets all of it, or keeps what it had. */
export async function sendFile(
  { box, path, parents, meter }: Pick<UploadTarget, 'box' | 'path' | 'parents' | 'meter'>,
  from: string | null,
): Promise<void> {
  const mode = from === null || pipeDescriptorOf(from) !== null ? {} : { mode: formatMode(statSync(from).mode) }
  const query = { ...(parents ? { parents: 'true' } : {}), ...mode }
  await sendBytes(from, meter, (body) => box.writeFile(path, body, query)).catch((error: unknown) => {
    if (error instanceof SilentInputError) throw new SilentInputError(execWay(box, path), error)
    throw error instanceof ApiError && error.code === 'file_not_found' ? noDirectory(box, path, error) : error
  })
}

/**
 * Sends a file, a pipe of the shell, or stdin (null). Reads a file again to resend it, which is impossible for pipes and stdin.
 * @throws UsageError for a directory, FIFO, socket or device, Error if the front rejects stdin and its bytes are gone by then,
 * SilentInputError, and the errors of `send`
 */
export async function sendBytes<T>(
  from: string | null,
  meter: Meter,
  send: (body: UploadBody) => Promise<T>,
): Promise<T> {
  const pipe = from === null ? null : pipeDescriptorOf(from)
  if (from !== null && pipe === null) return sendInput(from, meter, send)
  const input = await SlowInput.open(metered(pipe === null ? readStdin() : readPipe(pipe), meter))
  return send(ReadableStream.from(input.pieces())).catch((error: unknown) => {
    if (wasSilent(input)) throw new SilentInputError('Save it to a file, and send the file.', error)
    const isGone = error instanceof ApiError && error.code === 'body_too_large' && error.cause instanceof ApiError
    throw isGone ? new Error(STDIN_GONE, { cause: error }) : error
  })
}

function sendInput<T>(from: string, meter: Meter, send: (body: UploadBody) => Promise<T>): Promise<T> {
  // Also checked here, so that a refused file costs no request.
  describeInput(from)
  return send(() => readAnew(from, meter))
}

function readAnew(from: string, meter: Meter): ReadableStream<Uint8Array> | SizedStream {
  const found = describeInput(from)
  // Files of /proc hold more than their reported size, and pipes report none.
  const sizeBytes = found.isFile() && found.size > 0 ? found.size : null
  const input = readInput(from, sizeBytes)
  const stream = ReadableStream.from(metered(sizeBytes === null ? input : exactly(input, sizeBytes, from), meter))
  return sizeBytes === null ? stream : { stream, sizeBytes }
}

/** Passes on the pieces. @throws Error if they end before this many bytes */
async function* exactly(
  pieces: AsyncIterable<Uint8Array>,
  sizeBytes: number,
  from: string,
): AsyncGenerator<Uint8Array> {
  let left = sizeBytes
  for await (const piece of pieces) {
    left -= piece.length
    yield piece
  }
  if (left > 0) throw new Error(`${from} was truncated while it was being sent.`)
}

/**
 * Sends a directory with modes and times, as files of root. Each file arrives whole or not at all. Files sent before an interruption stay.
 * An existing directory keeps its mode. @throws Error if the box refused an entry, or has something else there
 */
export async function sendTree(target: UploadTarget, from: string): Promise<void> {
  const { boxyard, box, path, parents, meter } = target
  const place = { project: box.project, name: box.name }
  const there = await describeRemote(boxyard, place, path)
  if (there !== null && there.type !== 'directory')
    throw new Error(`${path} in ${box.name} exists and is not a directory, so a directory cannot replace it.`)
  const isThere = there !== null
  const into = isThere ? path : posix.dirname(path)
  if (!isThere) await checkDirectory({ boxyard, box, path, parents })
  // A link to a directory counts as that directory.
  const root = realpathSync(from)
  const itself = isThere ? null : describeLocal(root, '')
  const entries = [...(itself === null ? [] : [itself]), ...(await scanTree(root, target))]
  await sendEntries({ box, path, meter, into }, { root, entries, prefix: isThere ? '' : `${posix.basename(path)}/` })
}

/**
 * Sends one file or link as an entry of an archive. It replaces a link of its name, because neither link is followed.
 * @throws Error if the box refused it
 */
export async function sendEntry(target: UploadTarget, from: string): Promise<void> {
  const { box, path, meter } = target
  await checkDirectory(target)
  const root = join(realpathSync(dirname(from)), basename(from))
  const entry = describeLocal(root, '')
  if (entry === null) throw new Error(`${from} is neither a file nor a link.`)
  const entries = { root, entries: [entry], prefix: posix.basename(path) }
  await sendEntries({ box, path, meter, into: posix.dirname(path) }, entries)
}

async function sendEntries(
  { box, meter, into }: Pick<UploadTarget, 'box' | 'path' | 'meter'> & { into: string },
  entries: Pick<Packing, 'root' | 'entries' | 'prefix'>,
): Promise<void> {
  // Loaded on demand, because most commands start without it.
  const { packEntries } = await import('./packing.ts')
  const archive = (): AsyncIterable<Uint8Array> => packEntries({ ...entries, ownerOf: () => ROOT })
  await unpackIn(box, into, () => ReadableStream.from(metered(archive(), meter)))
}

/** Creates the parent directory of a path, or finds it. @throws Error if it does not exist and must not be created */
async function checkDirectory({
  boxyard,
  box,
  path,
  parents,
}: Omit<UploadTarget, 'meter' | 'onLeftOut'>): Promise<void> {
  const place = { project: box.project, name: box.name }
  const directory = posix.dirname(path)
  if (parents) await boxyard.call('makeDirectory', { path: place, body: { path: directory, parents } })
  else if ((await describeRemote(boxyard, place, directory)) === null) throw noDirectory(box, path)
}

/** Returns the way to send input that is silent for long. */
function execWay({ name }: BoxHandle, path: string): string {
  const command = shellWord(`cat > ${shellWord(path)}`)
  return `To send slow input: COMMAND | boxyard exec -i ${name} sh -c ${command}`
}

/** Creates the error for a copy into a missing directory, in the words of cp and scp. */
function noDirectory({ name }: BoxHandle, path: string, cause?: unknown): Error {
  const directory = posix.dirname(path)
  return new Error(
    `There is no ${directory} in ${name}. To create it: boxyard files mkdir --parents ${name} ${directory}`,
    {
      cause,
    },
  )
}

const STDIN_GONE =
  'This is too long for the front, and stdin or a pipe cannot be read again for the data address. Save it to a file, and copy the file.'
const ROOT = { uid: 0, gid: 0 }
