import fs from 'node:fs'
import { expect } from '@jest/globals'
import type { RunningExec } from '../../../agent/ports/boxes/runtime.ts'
import type { BoxFiles, FileLab } from '../files/lab.ts'
import { buildSyscallProgram, type Syscall } from './syscall-program.ts'

/** Error codes that the box can cause by its own attacks. Overwritten data counts against its quota until the pool's next commit. */
export const REFUSALS =
  /^(file_not_found|not_a_directory|is_a_directory|directory_not_empty|path_invalid|box_busy|name_taken|storage_full)$/

/** Returns the described result of an operation, or the code of an expected refusal. Fails on any other error. */
export async function outcome<T>(work: Promise<T>, describe: (result: T) => string): Promise<string> {
  try {
    return describe(await work)
  } catch (error) {
    const { code } = error as { code: string }
    expect(code).toMatch(REFUSALS)
    return code
  }
}

/** Attacks on the host from `box_main`. */
export interface HostileBox {
  /** Starts a command in the box. */
  begin(command: string[]): Promise<RunningExec>
  end(running: RunningExec): Promise<void>
  /** Keeps swapping pairs of names in the box while `work` runs. */
  during(swaps: readonly (readonly [string, string])[], work: () => Promise<void>): Promise<void>
}

export function hostileBox({ volumes }: FileLab, box: BoxFiles): HostileBox {
  const begin = async (command: string[]): Promise<RunningExec> => {
    const started = await volumes.lab.runtime.exec('box_main', { command, cwd: '/', environment: {}, user: null })
    for (const stream of [started.stdout, started.stderr]) stream.resume()
    return started
  }
  const end = async (running: RunningExec): Promise<void> => {
    await running.signal('SIGKILL')
    await running.exited
    for (const stream of [running.stdin, running.stdout, running.stderr]) stream.destroy()
  }
  const during: HostileBox['during'] = async (swaps, work) => {
    const calls = Array.from({ length: 200 }, () => swaps)
      .flat()
      .flatMap(([one, other]): Syscall[] => {
        const swap = { name: RENAMEAT2, args: [AT_FDCWD, one, AT_FDCWD, other, RENAME_EXCHANGE] }
        return [swap, swap]
      })
    fs.writeFileSync(`${box.place.rootPath}/tmp/swap`, buildSyscallProgram(calls), { mode: 0o755 })
    const attacker = await begin(['/bin/sh', '-c', 'while :; do /tmp/swap; done'])
    try {
      await work()
    } finally {
      await end(attacker)
    }
  }
  return { begin, end, during }
}

/** A tree on the host that no box may see or change. */
export interface HostTree {
  path: string
  /** Lists the whole tree with file contents. */
  read(): string[]
  /** Returns link targets that lead to the tree unless they are resolved within the box. The last one leads to the host's root. */
  waysOut(): string[]
}

/** Creates a tree with a file at the top and in the directories `in` and `tree/in`. */
export function makeHostTree(path: string): HostTree {
  for (const name of ['in', 'tree/in']) fs.mkdirSync(`${path}/${name}`, { recursive: true })
  for (const name of ['file', 'in/file', 'tree/in/file']) fs.writeFileSync(`${path}/${name}`, HOST_TEXT)
  return {
    path,
    read: () =>
      fs.readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => {
        const each = `${path}/${name}`
        return `${name} ${fs.statSync(each).isFile() ? fs.readFileSync(each, 'utf8') : ''}`
      }),
    waysOut: () => [
      path,
      `../../../../../../../../../..${path}`,
      `/proc/1/root${path}`,
      `/proc/self/root${path}`,
      `/proc/1/cwd/../../../..${path}`,
      `/proc/self/fd/3/../../..${path}`,
      '/',
    ],
  }
}

/** Content of each file in a host tree. */
export const HOST_TEXT = 'of the host'

const AT_FDCWD = -100
const RENAMEAT2 = process.arch === 'arm64' ? '276' : '316'
const RENAME_EXCHANGE = 2
