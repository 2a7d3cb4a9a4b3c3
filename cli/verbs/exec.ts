import { setTimeout as pause } from 'node:timers/promises'
import { ApiError, ConnectionError } from '../../sdk/typescript/src/api-error.ts'
import type { BoxHandle } from '../../sdk/typescript/src/boxyard.ts'
import type { TerminalStream } from '../../sdk/typescript/src/terminal-stream.ts'
import { writeBytes } from '../output/byte-output.ts'
import { UsageError } from '../output/failures.ts'
import { printAnswer } from '../output/printing.ts'
import { printLine, reportLine } from '../output/terminal.ts'
import { tellIfSlow } from '../output/waiting.ts'
import { pairsOf } from './plain.ts'
import { quantityOf } from './quantities.ts'
import type { Verb, VerbContext, VerbFlags } from './verb.ts'

const exec: Verb = {
  words: 'exec',
  args: '<box> <command...>',
  flags: [
    ['-i, --stdin', 'forward stdin'],
    ['-t, --tty', 'allocate a terminal'],
    ['-d, --detach', 'return once it has started, and leave it running'],
    ['--no-hup', 'keep it and its output across restarts of the service'],
    ['--json', 'wait until it exits, and print its record'],
    ['-w, --cwd <path>', 'working directory'],
    ['-u, --user <user>', 'user to run it as'],
    ['-e, --env <key=value...>', 'environment variables (KEY without a value copies yours)'],
    ['--timeout <time>', 'kill it after this time, such as 90s or 5m (exit code 124)'],
  ],
  summary: 'Run a command in a box and exit with its exit code',
  examples: [
    'boxyard exec web ls -l /srv',
    'boxyard exec -it web bash',
    'tar -c . | boxyard exec -i web tar -x -C /srv',
  ],
  operations: ['streamExec', 'createExec', 'getExecOutput', 'getExec'],
  run: async ({ boxyard, project, format, tell }, [name = '', ...command], flags) => {
    checkInputFlags(flags)
    const box = boxyard.box(project(), name)
    if (flags['detach'] === true || flags['json'] === true) {
      const path = { project: project(), name }
      const common = { command, ...requestOf(flags) }
      if (flags['detach'] === true) {
        const started = await boxyard.call('createExec', { path, body: { ...common, no_hup: true } })
        if (flags['json'] === true || format !== 'table')
          await printAnswer(started, flags['json'] === true ? 'json' : format)
        else printLine(started.id)
        return 0
      }
      const { command: _, ...options } = common
      const record = await box.run(command, options)
      await printAnswer(record, 'json')
      return record.status === 'timed_out' ? tellTimeOut(flags) : (record.exit_code ?? 1)
    }
    if (flags['tty'] === true && !process.stdin.isTTY)
      throw new UsageError('-t: needs a terminal as stdin. Without a terminal, use only -i, which forwards stdin.')
    const { id, code } = await runStreamed({ box, tell }, command, flags)
    // The command was killed, and its record shows by whom.
    if (code !== KILLED || flags['timeout'] === undefined || id === null) return code
    const { status } = await boxyard.call('getExec', { path: { project: project(), name, exec: id } })
    return status === 'timed_out' ? tellTimeOut(flags) : code
  },
}

const consoleVerb: Verb = {
  words: 'console',
  args: '<box>',
  flags: [
    ['--session <name>', 'name of the session'],
    ['--shell <path>', 'program that a new session runs'],
    ['--user <user>', 'user of a new session'],
  ],
  summary: 'Attach to a terminal session of a box. Ctrl-] detaches, and the session keeps running',
  examples: ['boxyard console web', 'boxyard console web --session build'],
  operations: ['openConsole'],
  run: async ({ boxyard, project, tell }, [name = ''], flags) => {
    const box = boxyard.box(project(), name)
    const options = { session: textOf(flags['session']), shell: textOf(flags['shell']), user: textOf(flags['user']) }
    // The first one is not retried.
    let attempts = REATTACHES
    let isToldHowToLeave = false
    for (;;) {
      try {
        const console = await box.console({ ...options, ...sizeOf() })
        if (!isToldHowToLeave && process.stdin.isTTY) tell(`Attached to ${name}. Press Ctrl-] to detach.\r`)
        isToldHowToLeave = true
        attempts = 0
        return await converse(console, { isTerminal: true, leavesBy: CTRL_BRACKET })
      } catch (error) {
        if (!isAway(error) || attempts === REATTACHES) throw error
        if (attempts === 0) tell('\r\nConnection lost, reconnecting')
        attempts++
        await pause(REATTACH_MS)
      }
    }
  },
}

/** The commands that run programs. */
export const EXEC_VERBS: readonly Verb[] = [exec, consoleVerb]

/** @throws UsageError for input or a terminal of a command that gets neither */
function checkInputFlags(flags: VerbFlags): void {
  const other = ['detach', 'json'].find((flag) => flags[flag] === true)
  if (other === undefined) return
  const way = "boxyard exec -d BOX sh -c 'COMMAND < FILE'"
  if (flags['stdin'] === true)
    throw new UsageError(`-i: not with --${other}, which gives the command no input. To read a file of the box: ${way}`)
  if (flags['tty'] === true)
    throw new UsageError(`-t: not with --${other}, which runs the command without a terminal. Leave out -t.`)
}

/** Reports the timeout, and returns its exit code, as timeout(1) does. */
function tellTimeOut(flags: VerbFlags): number {
  reportLine(`boxyard: timed out after ${quantityOf('seconds', 'timeout', flags['timeout'])} s`)
  return TIMED_OUT
}

async function runStreamed(
  { box, tell }: { box: BoxHandle; tell: VerbContext['tell'] },
  command: string[],
  flags: VerbFlags,
): Promise<{ id: string | null; code: number }> {
  const isTerminal = flags['tty'] === true
  const hasInput = flags['stdin'] === true || isTerminal
  const { env, cwd, user, timeout_seconds: timeoutSeconds } = requestOf(flags)
  const noHup = flags['noHup'] === true || flags['hup'] === false
  const size = isTerminal ? sizeOf() : {}
  const options = { env, cwd, user, timeoutSeconds, stdin: hasInput, tty: isTerminal, noHup, ...size }
  const stream = await tellIfSlow(tell, `Start ${command[0]} in ${box.name}`, () => box.stream(command, options))
  return { id: stream.id, code: await converse(stream, { isTerminal, leavesBy: null, hasInput }) }
}

interface Talk {
  isTerminal: boolean
  /** The byte that detaches, or null for none. */
  leavesBy: number | null
  hasInput?: boolean
}

/** Connects this process's streams to the streams of the command, and returns its exit code. */
async function converse(stream: TerminalStream, { isTerminal, leavesBy, hasInput = true }: Talk): Promise<number> {
  const { stdout, stderr } = process
  // Opened on demand, because a command without input starts without it.
  const stdin = hasInput ? process.stdin : null
  const isRaw = isTerminal && stdin?.isTTY === true
  let hasLeft = false
  const resize = (): void => void stream.resize(stdout.columns, stdout.rows).catch(() => undefined)
  const type = (bytes: Buffer): void => {
    if (isRaw && leavesBy !== null && bytes.includes(leavesBy)) {
      hasLeft = true
      return stream.close()
    }
    stdin?.pause()
    stream.write(bytes).then(
      () => stdin?.resume(),
      () => undefined,
    )
  }
  let isOver = false
  // If the input is not a terminal, sends Ctrl-D to a command that runs in one, as a user would. Repeats it, because a program that sets
  // its terminal drops earlier input.
  const typeEnd = async (): Promise<void> => {
    while (!isOver) {
      await stream.write(Buffer.of(CTRL_D)).catch(() => undefined)
      await pause(END_AGAIN_MS, undefined, { ref: false })
    }
  }
  const endInput = (): void => {
    if (!isTerminal) return void stream.endInput().catch(() => undefined)
    void typeEnd()
  }
  // Resumed, because it was paused unless this is the first stream.
  stdin?.on('data', type).on('end', endInput).resume()
  if (isTerminal) stdout.on('resize', resize)
  if (isRaw) stdin?.setRawMode(true)
  try {
    for await (const piece of stream) await writeBytes(piece.stream === 'stdout' ? stdout : stderr, piece.bytes)
    const { exitCode, message, oomKills } = await stream.ended()
    if ((exitCode === null || oomKills !== undefined) && message !== null)
      stderr.write(hasLeft ? '\r\nDetached. The session keeps running.\r\n' : `boxyard: ${message}\n`)
    return hasLeft ? 0 : (exitCode ?? 1)
  } finally {
    isOver = true
    if (isRaw) stdin?.setRawMode(false)
    stdin?.off('data', type).off('end', endInput).pause()
    stdout.off('resize', resize)
  }
}

function requestOf(flags: VerbFlags): {
  cwd?: string
  user?: string
  env?: Record<string, string>
  timeout_seconds?: number
} {
  const { cwd, user, timeout } = flags
  return {
    ...(typeof cwd === 'string' ? { cwd } : {}),
    ...(typeof user === 'string' ? { user } : {}),
    ...(flags['env'] === undefined ? {} : { env: pairsOf(flags['env'], '--env') }),
    ...(timeout === undefined ? {} : { timeout_seconds: quantityOf('seconds', 'timeout', timeout) }),
  }
}

/** Returns whether the service, or the way to it, is temporarily unavailable. */
function isAway(error: unknown): boolean {
  return error instanceof ConnectionError || (error instanceof ApiError && AWAY.has(error.status))
}

// A terminal of unknown size reports 0.
function sizeOf(): { cols: number; rows: number } {
  return { cols: process.stdout.columns || 80, rows: process.stdout.rows || 24 }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Exit code after SIGKILL. */
const KILLED = 137
const TIMED_OUT = 124
const CTRL_BRACKET = 0x1d
/** Longer than a shell needs to set its terminal, and shorter than a user's wait. */
const END_AGAIN_MS = 1_000
const CTRL_D = 0x04
const AWAY = new Set([502, 503, 504])
const REATTACHES = 60
const REATTACH_MS = 1000
