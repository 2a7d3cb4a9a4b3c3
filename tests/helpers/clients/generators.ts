import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

/** A directory in which clients are generated, compiled and run. */
export interface Workbench {
  readonly directory: string
  /** Writes a file below the directory. */
  write(name: string, text: string): void
  /** Runs a Node.js program of the generators' packages, or a file of the directory; returns all it prints. @throws Error if it fails */
  node(program: string, ...args: string[]): Promise<string>
  /** Runs the generators' Python, which finds what is in the directory; returns all it prints. @throws Error if it fails */
  python(...args: string[]): Promise<string>
  close(): void
}

/** Returns where the generators are, as TEST_CLIENT_GENERATORS says. */
export function generatorsDirectory(): string {
  const generators = process.env['TEST_CLIENT_GENERATORS']
  if (generators === undefined) throw new Error('Run this by `npm test -- clients`, which sets TEST_CLIENT_GENERATORS.')
  return generators
}

/** Opens a workbench with the generators. */
export function openWorkbench(): Workbench {
  const generators = generatorsDirectory()
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-clients-'))
  const bin = join(generators, 'python/bin')
  symlinkSync(join(generators, 'node_modules'), join(directory, 'node_modules'))
  const env = {
    PATH: [dirname(process.execPath), bin, process.env['PATH']].join(delimiter),
    HOME: directory,
    NO_COLOR: '1',
    PYTHONPATH: directory,
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const run = async (program: string, args: readonly string[]): Promise<string> => {
    const options = { cwd: directory, env, maxBuffer: 64 * 1024 * 1024 }
    const { stdout, stderr } = await promisify(execFile)(program, args, options).catch((error: unknown) => {
      const { stdout: said = '', stderr: told = '' } = error as { stdout?: string; stderr?: string }
      throw new Error(`${program} ${args.join(' ')} failed\n${said}${told}`, { cause: error })
    })
    return `${stdout}${stderr}`
  }
  return {
    directory,
    write: (name, text) => writeFileSync(join(directory, name), text),
    node: (program, ...args) => run(process.execPath, [join(directory, program), ...args]),
    python: (...args) => run(join(bin, 'python'), args),
    close: () => rmSync(directory, { recursive: true, force: true }),
  }
}
