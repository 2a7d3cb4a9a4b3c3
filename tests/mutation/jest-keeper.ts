import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dieWithParent } from '../../infra/commands.ts'
import type { FileRequest, FileResult } from './kept-jest.ts'
import type { MutatedTree } from './tree.ts'

export interface TestRun {
  end: 'passed' | 'failed' | 'timeout'
  /** Excludes the time that the process waits for a CPU, so that other work on the machine does not count. */
  ms: number
  /** Mutants whose place in the source was reached. */
  reached: number[]
}

/** Runs test files of a mutated tree, one at a time, in a process that it reuses for the next file while the process is clean. */
export class JestKeeper {
  readonly #makeTree: () => MutatedTree
  #tree: MutatedTree | null = null
  #process: KeptProcess | null = null

  /** Calls `makeTree` before the first run. */
  constructor(makeTree: () => MutatedTree) {
    this.#makeTree = makeTree
  }

  /** Runs a file with some mutants active. */
  async run(file: string, { mutants, limitMs }: { mutants: readonly number[]; limitMs: number }): Promise<TestRun> {
    const tree = (this.#tree ??= this.#makeTree())
    writeFileSync(tree.active, mutants.join('\n'))
    let run = await this.#runOnce(tree, file, limitMs)
    // A process or timer that an earlier file left behind can have ended the process.
    if (run.end === 'crashed') run = await this.#runOnce(tree, file, limitMs)
    return { ...run, end: run.end === 'crashed' ? 'failed' : run.end }
  }

  /** Ends the process and everything that its tests started. */
  async close(): Promise<void> {
    await this.#process?.close()
    this.#process = null
  }

  async #runOnce(tree: MutatedTree, file: string, limitMs: number): Promise<Omit<TestRun, 'end'> & { end: End }> {
    writeFileSync(tree.reached, '')
    if (!this.#process?.isRunning) {
      await this.close()
      this.#process = await KeptProcess.start(tree.directory)
    }
    const { end, ms, isClean } = await this.#process.run({ file, cacheDirectory: tree.cache }, limitMs)
    if (!isClean) await this.close()
    return { end, ms, reached: [...new Set(readNumbers(tree.reached))] }
  }
}

/** One process of `kept-jest.ts` in its own namespaces. Processes and mounts of its tests end with it. */
class KeptProcess {
  /** unshare(1). It ends with its child, and the child ends with it. */
  readonly #child: ChildProcess
  /** Pid of the process that runs jest. */
  readonly #pid: number
  /** Holds the temporary files of the tests, including killed ones. */
  readonly #files: string
  #waitedMs = 0

  private constructor(child: ChildProcess, files: string) {
    this.#child = child
    this.#pid = lastDescendantOf(child.pid ?? 0)
    this.#files = files
  }

  static async start(cwd: string): Promise<KeptProcess> {
    const program = [process.execPath, join(import.meta.dirname, 'kept-jest.ts')]
    const [command = '', ...args] = dieWithParent([...NAMESPACES, ...program])
    const files = mkdtempSync(join(tmpdir(), 'lane-'))
    // The users of boxes must reach their roots in it.
    chmodSync(files, 0o755)
    const child = spawn(command, args, {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...process.env, NODE_OPTIONS: NODE_OPTIONS.join(' '), TEST_OWN_MOUNTS: '1', TMPDIR: files },
    })
    await new Promise((resolve, reject) => {
      child.once('message', resolve)
      child.once('exit', (code) => reject(new Error(`The process that runs jest ended with exit code ${code}.`)))
    })
    return new KeptProcess(child, files)
  }

  get isRunning(): boolean {
    return this.#child.connected
  }

  run(request: FileRequest, limitMs: number): Promise<{ end: End; ms: number; isClean: boolean }> {
    const begun = performance.now() - this.#readWaited()
    const elapsed = (): number => Math.round(performance.now() - this.#readWaited() - begun)
    return new Promise((resolve) => {
      const finish = (end: End, isClean: boolean): void => {
        clearInterval(timer)
        this.#child.off('exit', onExit).off('message', onResult)
        resolve({ end, ms: elapsed(), isClean })
      }
      const onExit = (): void => finish('crashed', false)
      const onResult = ({ passed, isClean }: FileResult): void => finish(passed ? 'passed' : 'failed', isClean)
      const timer = setInterval(() => {
        if (elapsed() > limitMs) finish('timeout', false)
      }, TIMEOUT_STEP_MS)
      this.#child.once('exit', onExit).once('message', onResult)
      this.#child.send(request, (error) => {
        if (error !== null) onExit()
      })
    })
  }

  async close(): Promise<void> {
    if (this.isRunning) {
      const ended = new Promise((resolve) => this.#child.once('disconnect', resolve))
      this.#child.kill('SIGKILL')
      await ended
    }
    rmSync(this.#files, { recursive: true, force: true, maxRetries: 5 })
  }

  /** Milliseconds that the thread of the tests waited for a CPU (proc_pid_schedstat). */
  #readWaited(): number {
    try {
      this.#waitedMs = Number(readFileSync(`/proc/${this.#pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
    } catch {
      // The process has ended.
    }
    return this.#waitedMs
  }
}

function lastDescendantOf(pid: number): number {
  const child = Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8'))
  return child === 0 ? pid : lastDescendantOf(child)
}

function readNumbers(path: string): number[] {
  return readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number)
}

type End = TestRun['end'] | 'crashed'
// A box runtime needs a mount namespace other than its init's (agent/lib/mounts/namespace.ts). The shell is the init and reaps orphans.
const NAMESPACES = [
  ...['unshare', '--mount', '--propagation', 'slave', '--pid', '--fork', '--kill-child', '--mount-proc', '--'],
  ...['sh', '-c', '"$@"; exit', 'sh', 'unshare', '--mount', '--propagation', 'slave', '--'],
]
const NODE_OPTIONS = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
const TIMEOUT_STEP_MS = 250
