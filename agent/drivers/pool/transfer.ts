import type { ChildProcess } from 'node:child_process'
import fs from 'node:fs/promises'
import { Socket } from 'node:net'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { repeat } from '../../../shared/repeat.ts'
import { readPipe } from '../../lib/output/pipe-reader.ts'
import { ProgramError } from '../../lib/program-error.ts'
import { type ChildStdio, killGroup, spawnChild } from '../../lib/run.ts'
import { closeFd, openPipe, widenPipe } from '../../lib/syscalls/descriptors.ts'
import { type ReceiveRequest, type SendRequest, SendTooLongError } from '../../ports/pool/cow-filesystem.ts'
import type { MountedPool } from './pool.ts'
import { sendFault } from './send-stream.ts'
import {
  childSubvolumes,
  createSubvolume,
  type SubvolumeCopy,
  snapshotSubvolume,
  subvolumeId,
  withSubvolume,
} from './subvolumes.ts'

type PoolMount = Pick<MountedPool, 'rootFd' | 'mountPath'>

/**
 * Streams a read-only subvolume by `btrfs send`, compressed with zstd. With a parent, streams only the difference. Stopping the iteration
 * or aborting `signal` ends the programs. Throws at the end if they failed.
 */
export async function* sendSubvolume({ mountPath }: PoolMount, request: SendRequest): AsyncGenerator<Uint8Array> {
  const { name, parent, maxBytes = Number.POSITIVE_INFINITY, signal } = request
  const from = parent === null ? [] : ['-p', path.join(mountPath, parent)]
  // Sends compressed extents unchanged, because recompressing would take most of the time.
  const args = ['send', '-q', '--proto', '2', '--compressed-data', ...from, path.join(mountPath, name)]
  const { writer: sender, reader: packer, fd } = startPair(['btrfs', args], ['zstd', PACK], 'read')
  const stop = stopOn([sender, packer], signal)
  const length = watchLength(sender, maxBytes, stop)
  try {
    // Buffers up to a limit while the reader waits for a disk or a network.
    for await (const piece of readPipe(fd, AHEAD_BYTES)) {
      await length.look()
      yield piece
    }
    length.check()
    if ((await sender.exit) !== 0) throw sendFault(sender.errorText())
    await ended(packer)
    signal?.throwIfAborted()
  } finally {
    length.end()
    stop()
  }
}

/**
 * Receives a chain of such streams into the new subvolume `container`, one subvolume each, and makes `name` a durable writable copy
 * of the last. The streams can reach nothing outside the container.
 * @throws Error for invalid streams, or ones that create anything else
 */
export async function receiveChain(
  pool: PoolMount,
  { group, ...request }: Omit<ReceiveRequest, 'project'> & Pick<SubvolumeCopy, 'group'>,
): Promise<void> {
  const { rootFd, mountPath } = pool
  const { container, name, quotaBytes, signal } = request
  // Everything that the program creates inside becomes a member of the same group, because simple quotas extend it to nested subvolumes.
  createSubvolume(rootFd, container, group)
  const directory = path.join(mountPath, container)
  let last = ''
  const seen = new Set<string>()
  for await (const stream of request.streams) {
    await receiveOne(directory, stream, signal)
    last = await newSubvolume(pool, container, seen)
    seen.add(last)
  }
  if (last === '') throw new Error('nothing was received')
  signal?.throwIfAborted()
  await snapshotSubvolume(rootFd, { source: `${container}/${last}`, name, isReadOnly: false, quotaBytes, group })
}

async function receiveOne(
  directory: string,
  stream: AsyncIterable<Uint8Array>,
  signal: AbortSignal | undefined,
): Promise<void> {
  // Runs in a root of its own, because a stream names the paths it writes to.
  const receive = ['receive', '-q', '-C', directory]
  const { writer: unpacker, reader: receiver, fd } = startPair(['zstd', UNPACK], ['btrfs', receive], 'write')
  const stop = stopOn([unpacker, receiver], signal)
  const input = new Socket({ fd, readable: false, writable: true })
  try {
    const feeding = pipeline(Readable.from(stream, { objectMode: true, highWaterMark: 1 }), input)
    // The program's own error explains an early end, not the broken pipe.
    const failures = (await Promise.allSettled([ended(receiver), ended(unpacker), feeding])).filter(
      (each) => each.status === 'rejected',
    )
    signal?.throwIfAborted()
    const source = failures.find(({ reason }) => !isBrokenPipe(reason) && !(reason instanceof ProgramError))
    if (failures[0]) throw (source ?? failures[0]).reason
  } finally {
    input.destroy()
    stop()
  }
}

/** Finds the one new subvolume in `container`. Throws if there is anything else. */
async function newSubvolume({ rootFd, mountPath }: PoolMount, container: string, seen: Set<string>): Promise<string> {
  const id = await withSubvolume(rootFd, container, subvolumeId)
  const made = childSubvolumes(rootFd, id).filter((child) => !seen.has(child.name))
  const names = await fs.readdir(path.join(mountPath, container))
  const [only] = made
  if (only && made.length === 1 && names.length === seen.size + 1 && names.includes(only.name)) return only.name
  throw new Error('the stream makes something else than one subvolume')
}

interface Program {
  name: string
  child: ChildProcess
  exit: Promise<number | NodeJS.Signals | null>
  errorText(): string
}

type Command = readonly [name: string, args: readonly string[]]

/**
 * Starts a pipeline of two programs, and returns the agent's end: the output of the second, or the input of the first.
 */
function startPair(
  first: Command,
  second: Command,
  own: 'read' | 'write',
): { writer: Program; reader: Program; fd: number } {
  const [between, outer] = [openPipe(), openPipe()]
  for (const { readFd } of [between, outer]) widenPipe(readFd, PIPE_BYTES)
  const [agentFd, childFd] = own === 'read' ? [outer.readFd, outer.writeFd] : [outer.writeFd, outer.readFd]
  try {
    const writer = start(first, [own === 'read' ? 'ignore' : childFd, between.writeFd, 'pipe'])
    const reader = start(second, [between.readFd, own === 'read' ? childFd : 'ignore', 'pipe'])
    return { writer, reader, fd: agentFd }
  } catch (error) {
    closeFd(agentFd)
    throw error
  } finally {
    for (const fd of [between.readFd, between.writeFd, childFd]) closeFd(fd)
  }
}

function start([name, args]: Command, stdio: readonly ChildStdio[]): Program {
  const child = spawnChild(name, args, { stdio })
  let errorText = ''
  child.stderr
    ?.on('error', () => undefined)
    .on('data', (text: Buffer) => {
      errorText = (errorText + text.toString()).slice(-500)
    })
  const exit = new Promise<number | NodeJS.Signals | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const end = (): void => resolve(code ?? signal)
      // Its stderr may still have unread output.
      if (child.stderr === null || child.stderr.closed) end()
      else child.stderr.once('close', end)
    })
  })
  exit.catch(() => undefined)
  return { name, child, exit, errorText: () => errorText.trim() }
}

async function ended({ name, exit, errorText }: Program): Promise<void> {
  const status = await exit
  if (status !== 0) throw new ProgramError(`${name} failed: ${errorText() || status}`, errorText())
}

/** Kills the running programs when called, or when `signal` aborts. */
function stopOn(programs: readonly Program[], signal: AbortSignal | undefined): () => void {
  const kill = (): void => {
    for (const { child } of programs) killGroup(child, 'SIGKILL')
  }
  signal?.addEventListener('abort', kill, { once: true })
  if (signal?.aborted) kill()
  return () => {
    signal?.removeEventListener('abort', kill)
    kill()
    for (const { child } of programs) for (const stream of child.stdio) stream?.destroy()
  }
}

/** Stops a sender once it has written more than `maxBytes`. Then `check` throws. */
function watchLength(
  { child }: Program,
  maxBytes: number,
  stop: () => void,
): { look(): Promise<void>; check(): void; end(): void } {
  let isTooLong = false
  const isBounded = maxBytes < Number.POSITIVE_INFINITY
  const look = async (): Promise<void> => {
    if (!isBounded) return
    const counters = await fs.readFile(`/proc/${child.pid}/io`, 'latin1').catch(() => '')
    isTooLong ||= Number(/^wchar: (\d+)$/m.exec(counters)?.[1] ?? 0) > maxBytes
    if (isTooLong) stop()
  }
  return {
    // Checks between pieces too, since a sender can produce zeros for minutes before they make one.
    look,
    check: () => {
      if (isTooLong) throw new SendTooLongError(`the stream has more than ${maxBytes} bytes`)
    },
    end: isBounded ? repeat(look, { everyMs: LOOK_MS, onError: () => undefined }) : () => undefined,
  }
}

function isBrokenPipe(error: unknown): boolean {
  const { code } = error as { code?: string }
  return code === 'EPIPE' || code === 'ERR_STREAM_PREMATURE_CLOSE'
}

const LOOK_MS = 200
const AHEAD_BYTES = 32 * 1024 ** 2
const PIPE_BYTES = 1024 ** 2
const PACK = ['-q', '-c', '-1']
const UNPACK = ['-q', '-d', '-c']
