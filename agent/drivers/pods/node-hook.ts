import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../shared/log.ts'
import { runOk } from '../../lib/run.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** A container that the node is about to create, or has just created. */
export interface HookCall {
  /** The wrapper, whose mount namespace receives the root, or for `created`, the container's init. */
  pid: number
  /** The directory of `config.json`, as that process sees it. */
  bundle: string
}

/** Answers the OCI wrapper of the node (`infra/node/boxyard-oci`). */
export interface HookListener {
  /** Mounts the root and rewrites the configuration. An error's message becomes an event of the pod. */
  prepare(call: HookCall): Promise<void>
  /** Called once the container has its process, which waits for its start. */
  created(call: HookCall): Promise<void>
}

export interface NodeHook {
  close(): void
}

/** Listens on `<runDir>/node.fifo`, which only root can write to. `node.run` names the listening process. */
export async function openNodeHook(runDir: string, listener: HookListener, logger: Logger): Promise<NodeHook> {
  const [path, run] = [`${runDir}/node.fifo`, `${runDir}/node.run`]
  fs.rmSync(run, { force: true })
  fs.rmSync(path, { force: true })
  await runOk('mkfifo', ['-m', '600', path])
  // Opens it for writing too, so that it does not end when the last wrapper closes it.
  const fd = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK)
  const socket = new Socket({ fd, readable: true, writable: false })
  socket.on('error', (error) => logger.error('connection to the node hook failed', { error }))
  socket.on(
    'data',
    createLineReader((line) => void handle(line, listener, logger)),
  )
  // Renames into place, because the wrapper may read it at any moment.
  fs.writeFileSync(`${run}.new`, `${randomUUID()} ${process.pid}\n`, { mode: 0o600 })
  fs.renameSync(`${run}.new`, run)
  return {
    close: () => {
      fs.rmSync(run, { force: true })
      socket.destroy()
      fs.rmSync(path, { force: true })
    },
  }
}

// Limits memory by keeping only the first 8 KiB of a line.
function createLineReader(onLine: (line: string) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = []
  let bufferedBytes = 0
  const append = (piece: Buffer): void => {
    const kept = Buffer.from(piece.subarray(0, LINE_BYTES - bufferedBytes))
    bufferedBytes += kept.length
    if (kept.length > 0) pieces.push(kept)
  }
  return (chunk) => {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      append(chunk.subarray(start, end))
      onLine(Buffer.concat(pieces).toString('utf8'))
      pieces = []
      bufferedBytes = 0
      start = end + 1
    }
    append(chunk.subarray(start))
  }
}

async function handle(line: string, listener: HookListener, logger: Logger): Promise<void> {
  const [, verb, pid, bundle] = /^(prepare|created) (\d{1,10}) (\/.+)$/.exec(line) ?? []
  if (verb === undefined || pid === undefined || bundle === undefined) {
    logger.error('the node hook received an invalid line', { line: line.slice(0, LOGGED_CHARACTERS) })
    return
  }
  const call = { pid: Number(pid), bundle }
  try {
    if (verb === 'created') return await listener.created(call)
    const reply = await listener.prepare(call).then(() => 'ok', explain(logger, call))
    await answer(call, reply)
  } catch (error) {
    logger.error('the node hook failed', { verb, bundle, error })
  }
}

function explain(logger: Logger, { bundle }: HookCall): (error: unknown) => string {
  return (error) => {
    logger.error('rejected a container', { bundle, error })
    return error instanceof Error ? error.message.replaceAll('\n', ' ') : 'refused'
  }
}

// The wrapper opens it for reading at once, unless it has ended.
async function answer({ pid, bundle }: HookCall, reply: string): Promise<void> {
  const deadline = performance.now() + ANSWER_MS
  for (;;) {
    try {
      const flags = fs.constants.O_WRONLY | fs.constants.O_NONBLOCK
      const fd = fs.openSync(hookPath({ pid, bundle }, 'boxyard-answer'), flags)
      fs.writeSync(fd, `${reply}\n`)
      fs.closeSync(fd)
      return
    } catch (error) {
      if (!isErrno(error, 'ENXIO') || performance.now() > deadline) throw error
      await sleep(1)
    }
  }
}

/** Returns the path of a file of the bundle as the calling process sees it. */
export function hookPath({ pid, bundle }: HookCall, name: string): string {
  return `/proc/${pid}/root${bundle}/${name}`
}

const ANSWER_MS = 5_000
const LOGGED_CHARACTERS = 200
// More than PIPE_BUF, the largest atomic write to a FIFO.
const LINE_BYTES = 8_192
const NEWLINE = 10
