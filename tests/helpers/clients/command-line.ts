import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll } from '@jest/globals'
import { buildCli } from '../../../infra/cli-bundle.ts'
import { eventually } from '../eventually.ts'
import type { UsedService } from '../own-service.ts'
import type { SharedService } from '../shared-service.ts'

/** Output and exit code of the command line. The code is null if a signal ended it. */
export interface CommandLineEnd {
  code: number | null
  stdout: string
  stderr: string
}

export interface CommandPlace {
  input?: string | Uint8Array
  /** Default: the directory of the tests. */
  cwd?: string
  env?: Record<string, string>
}

/** A running command line. */
export interface RunningCommand {
  child: ChildProcess
  /** Returns everything printed so far on both streams. */
  shown(): string
  type(text: string): void
  /** Waits until the output matches. */
  until(pattern: RegExp): Promise<void>
  ended: Promise<CommandLineEnd>
}

/** The command line of a test file, for project `demo` of a service. */
export interface TestCommandLine<Service extends SharedService = SharedService> extends UsedService<Service> {
  /** Its own directory, which is also the home directory. */
  directory(): string
  /** Path of the bundle. */
  program(): string
  /** Runs it to completion, as a user does. */
  run(args: readonly string[], place?: CommandPlace): Promise<CommandLineEnd>
  /** Runs a line of bash, in which `boxyard` is the command line. */
  runLine(line: string, place?: CommandPlace): Promise<CommandLineEnd>
  /** Starts it, and kills it after the test. */
  start(args: readonly string[], place?: CommandPlace): RunningCommand
  /** Starts it in its own terminal with script(1). */
  startInTerminal(args: readonly string[], place?: CommandPlace): RunningCommand
}

/** Bundles the command line before the tests of the calling file and removes it after them. */
export function useCommandLine<Service extends SharedService>(used: UsedService<Service>): TestCommandLine<Service> {
  let directory = ''
  let program = ''
  let running: ChildProcess[] = []
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'boxyard-cli-'))
    program = await buildCli(directory)
  })
  afterEach(() => {
    for (const child of running) child.kill('SIGKILL')
    running = []
  })
  afterAll(() => rmSync(directory, { recursive: true, force: true }))
  const begin = (command: readonly string[], { cwd = directory, env = {} }: CommandPlace): RunningCommand => {
    const [executable = '', ...args] = command
    const environment = {
      PATH: process.env['PATH'],
      HOME: directory,
      BOXYARD_DATA_DIR: '/nonexistent',
      BOXYARD_URL: used.service().url,
      BOXYARD_TOKEN: used.service().adminToken,
      BOXYARD_PROJECT: 'demo',
      ...env,
    }
    const child = spawn(executable, args, { cwd, env: environment })
    running.push(child)
    return watch(child)
  }
  const start: TestCommandLine['start'] = (args, place = {}) => begin([process.execPath, program, ...args], place)
  return {
    ...used,
    directory: () => directory,
    program: () => program,
    start,
    run: async (args, place = {}) => {
      const { child, ended } = start(args, place)
      child.stdin?.end(place.input ?? '')
      return ended
    },
    runLine: (line, place = {}) => {
      const own = `boxyard() { ${[process.execPath, program].map(quote).join(' ')} "$@"; }`
      const { child, ended } = begin(['bash', '-c', `${own}\n${line}`], place)
      child.stdin?.end(place.input ?? '')
      return ended
    },
    startInTerminal: (args, place = {}) => {
      const command = [process.execPath, program, ...args].map(quote).join(' ')
      // Sets a size, because the terminal of script(1) has none if script(1) itself runs without a terminal.
      const line = `stty cols 100 rows 30 && exec ${command}`
      return begin(['script', '--quiet', '--flush', '--return', '--command', line, '/dev/null'], place)
    },
  }
}

function watch(child: ReturnType<typeof spawn>): RunningCommand {
  const text = { stdout: '', stderr: '' }
  let shown = ''
  for (const name of ['stdout', 'stderr'] as const)
    child[name]?.on('data', (piece: Buffer) => {
      text[name] += piece.toString('utf8')
      shown += piece.toString('utf8')
    })
  child.stdin?.on('error', () => undefined)
  const ended = new Promise<CommandLineEnd>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...text }))
  })
  return {
    child,
    ended,
    shown: () => shown,
    type: (typed) => void child.stdin?.write(typed),
    until: (pattern) =>
      eventually(() => {
        if (pattern.test(shown)) return true
        if (child.exitCode === null) return false
        throw new Error(`It ended with ${child.exitCode} and never showed ${String(pattern)}:\n${shown}`)
      }),
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
