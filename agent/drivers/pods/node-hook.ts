import { randomUUID } from 'node:crypto'
import fs from 'node:fs'
import { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../../../shared/log.ts'
import { runOk } from '../../lib/run.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'

/** A container about to be created on this node, or just created. */
export interface HookCall {
  /** Of the wrapper, in whose mount namespace the root must be; or of the container's init. */
  pid: number
  /** The directory of its `config.json`, as that process sees it. */
  bundle: string
}

/** Who answers the OCI wrapper of the node (`infra/node/boxyard-oci`). */
export interface HookListener {
  /** Makes the root ready and the configuration right; a message of what it throws goes to the events of the pod. */
  prepare(call: HookCall): Promise<void>
  /** The container has its process, which waits for its start. */
  created(call: HookCall): Promise<void>
}

export interface NodeHook {
  close(): void
}

/** Listens at `<runDir>/node.fifo`, which only root can write to; `node.run` tells which process does. */
export async function openNodeHook(runDir: string, listener: HookListener, logger: Logger): Promise<NodeHook> {
  const [path, run] = [`${runDir}/node.fifo`, `${runDir}/node.run`]
  fs.rmSync(run, { force: true })
  fs.rmSync(path, { force: true })
  await runOk('mkfifo', ['-m', '600', path])
  // With a writer of our own there is no end of file when the last wrapper goes.
  const fd = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_NONBLOCK)
  const socket = new Socket({ fd, readable: true, writable: false })
  socket.on('error', (error) => logger.error('the node hook broke', { error }))
  socket.on(
    'data',
    createLineReader((line) => void handle(line, listener, logger)),
  )
  // The wrapper reads it at any moment: it is there whole, or not.
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

// A line that never ends must not fill the memory: of one that is too long a part is handed on.
function createLineReader(onLine: (line: string) => void): (chunk: Buffer) => void {
  let pieces: Buffer[] = []
  let heldBytes = 0
  const hold = (piece: Buffer): void => {
    const kept = Buffer.from(piece.subarray(0, LINE_BYTES - heldBytes))
    heldBytes += kept.length
    if (kept.length > 0) pieces.push(kept)
  }
  return (chunk) => {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      hold(chunk.subarray(start, end))
      onLine(Buffer.concat(pieces).toString('utf8'))
      pieces = []
      heldBytes = 0
      start = end + 1
    }
    hold(chunk.subarray(start))
  }
}

async function handle(line: string, listener: HookListener, logger: Logger): Promise<void> {
  const [, verb, pid, bundle] = /^(prepare|created) (\d{1,10}) (\/.+)$/.exec(line) ?? []
  if (verb === undefined || pid === undefined || bundle === undefined) {
    logger.error('the node hook was told nonsense', { line: line.slice(0, LOGGED_CHARACTERS) })
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
    logger.error('a container was refused', { bundle, error })
    return error instanceof Error ? error.message.replaceAll('\n', ' ') : 'refused'
  }
}

// Whoever asked opens it for reading at once, or is gone.
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

/** A file of the bundle, whatever this process has mounted there. */
export function hookPath({ pid, bundle }: HookCall, name: string): string {
  return `/proc/${pid}/root${bundle}/${name}`
}

const ANSWER_MS = 5_000
const LOGGED_CHARACTERS = 200
// More than what is written to a FIFO in one piece.
const LINE_BYTES = 8_192
const NEWLINE = 10
