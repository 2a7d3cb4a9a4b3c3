import fs from 'node:fs'
import path from 'node:path'
import { ServiceError } from '../../../shared/errors.ts'
import type { Logger } from '../../../shared/log.ts'
import { refusal } from '../../../shared/refusals.ts'
import { writeDurably } from '../../lib/disk/durable-file.ts'
import { killGroup, spawnChild } from '../../lib/run.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Scrub } from '../../ports/pool/condition.ts'
import { cancelScrub, readScrubProgress, resetDeviceErrors, type ScrubProgress } from './condition.ts'

/** Scrubs a pool, one at a time. Keeps the last result in a file beside the image. */
export interface PoolScrubs {
  /** Starts a scrub unless one is running. @throws ServiceError `storage_full`, or `internal` if it cannot record the start */
  start(clock: Pick<Clock, 'now'>): void
  /** Returns the running scrub, else the last one, or null if there was none. */
  current(): Scrub | null
  /** Cancels the running scrub, which is then `interrupted`. */
  close(): Promise<void>
}

export interface PoolScrubsOptions {
  rootFd: number
  mountPath: string
  dataDir: string
  filesystemId: string
  logger: Logger
}

/** Runs each scrub as a process, which takes as long as reading the whole pool. */
export function createPoolScrubs(options: PoolScrubsOptions): PoolScrubs {
  const { rootFd, dataDir, logger } = options
  const file = path.join(dataDir, FILE_NAME)
  let last = readNote(file)
  let running: { ended: Promise<void>; stop(): void } | null = null
  // Continues without the note, because the state in memory serves until the agent ends.
  const settle = (scrub: Scrub): void => {
    last = scrub
    attempt(logger, 'failed to record the end of a scrub', () => writeNote(file, scrub))
  }
  if (last?.status === 'running') {
    // A crashed agent's scrub may still run and hold the pool.
    cancel(rootFd)
    settle({ ...last, status: 'interrupted' })
  }
  return {
    start: (clock) => {
      if (running !== null) return
      const startedAt = clock.now()
      const begun: Scrub = { status: 'running', startedAt, endedAt: null, ...NOTHING }
      noteStart(file, begun)
      let isStopped = false
      const { output, kill } = runScrub(options)
      last = begun
      const ended = output.then((text) => {
        const found = parseResult(text)
        const status = isStopped ? 'interrupted' : found === null ? 'failed' : 'done'
        running = null
        // A clean scrub proves earlier errors repaired.
        if (status === 'done' && found?.errors === 0)
          attempt(logger, 'failed to reset the error counts', () => resetDeviceErrors(rootFd))
        settle({ status, startedAt, endedAt: clock.now(), ...(found ?? NOTHING) })
      })
      const stop = (): void => {
        isStopped = true
        cancel(rootFd)
        kill()
      }
      running = { ended, stop }
    },
    current: () => (running === null || last === null ? last : { ...last, ...progressOf(rootFd) }),
    close: async () => {
      running?.stop()
      await running?.ended
    },
  }
}

/** Resolves to the output of the program once it has ended, or to an empty text if it did not start. */
function runScrub({ mountPath, filesystemId, logger }: PoolScrubsOptions): { output: Promise<string>; kill(): void } {
  const child = spawnChild('btrfs', ['scrub', 'start', '-B', '-R', mountPath], { stdio: ['ignore', 'pipe', 'ignore'] })
  let text = ''
  child.stdout?.on('data', (piece: Buffer) => {
    text = `${text}${piece.toString()}`.slice(-OUTPUT_MAX)
  })
  const ended = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  const output = ended.then(() => {
    // The program's own status file is unused.
    attempt(logger, 'failed to remove the status files of a scrub', () => {
      for (const kind of ['status', 'progress'])
        fs.rmSync(`/var/lib/btrfs/scrub.${kind}.${filesystemId}`, { force: true })
    })
    return text
  })
  return { output, kill: () => void killGroup(child, 'SIGKILL') }
}

/** Parses the result, or returns null if the scrub did not finish. Pure. */
function parseResult(text: string): ScrubProgress | null {
  const values = new Map(
    [...text.matchAll(/^\s*(\w+):\s*(\d+)\s*$/gm)].map(([, name = '', value]) => [name, Number(value)]),
  )
  const sum = (...names: string[]): number => names.reduce((total, name) => total + (values.get(name) ?? 0), 0)
  if (!values.has('csum_errors') || /aborted|interrupted|cancel/i.test(text)) return null
  return {
    checkedBytes: sum('data_bytes_scrubbed', 'tree_bytes_scrubbed'),
    errors: sum('read_errors', 'csum_errors', 'verify_errors', 'super_errors'),
  }
}

function progressOf(rootFd: number): ScrubProgress | null {
  try {
    return readScrubProgress(rootFd)
  } catch (error) {
    if (isErrno(error, 'ENOTCONN')) return null
    throw error
  }
}

/** Runs `act`, and only logs its failure. */
function attempt(logger: Logger, failure: string, act: () => void): void {
  try {
    act()
  } catch (error) {
    logger.warn(failure, { error })
  }
}

function cancel(rootFd: number): void {
  try {
    cancelScrub(rootFd)
  } catch (error) {
    if (!isErrno(error, 'ENOTCONN')) throw error
  }
}

function noteStart(file: string, scrub: Scrub): void {
  try {
    writeNote(file, scrub)
  } catch (cause) {
    if (isErrno(cause, 'ENOSPC', 'EDQUOT'))
      throw refusal(
        'storage_full',
        ['The disk of this host has no room to note the start of a scrub.', 'Make room there, and try again.'],
        {
          cause,
        },
      )
    throw new ServiceError(
      'internal',
      'The agent could not record the start of the scrub. Find the cause in its log.',
      { cause },
    )
  }
}

function writeNote(file: string, scrub: Scrub): void {
  writeDurably(file, `${JSON.stringify(scrub)}\n`)
}

function readNote(file: string): Scrub | null {
  try {
    return JSON.parse(fs.readFileSync(file, 'utf8')) as Scrub
  } catch (error) {
    if (isErrno(error, 'ENOENT') || error instanceof SyntaxError) return null
    throw error
  }
}

const FILE_NAME = 'scrub.json'
const OUTPUT_MAX = 64 * 1024
const NOTHING: ScrubProgress = { checkedBytes: 0, errors: 0 }
