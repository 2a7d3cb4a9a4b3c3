import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import type { TestService } from '../service.ts'

/** A directory to generate, compile and run clients in. */
export interface Workbench {
  readonly directory: string
  /** Writes a file below the directory. */
  write(name: string, text: string): void
  /** Runs a program of the host and returns all its output. @throws Error if it fails */
  run(program: string, ...args: string[]): Promise<string>
  /** Runs a Node.js program from the generators' packages or this directory. Returns all its output. @throws Error if it fails */
  node(program: string, ...args: string[]): Promise<string>
  /** Runs the generators' Python, which can import from this directory. Returns all its output. @throws Error if it fails */
  python(...args: string[]): Promise<string>
  close(): void
}

/** Returns the directory of the generators, from TEST_CLIENT_GENERATORS. */
export function generatorsDirectory(): string {
  const generators = process.env['TEST_CLIENT_GENERATORS']
  if (generators === undefined) throw new Error('Run this by `npm test -- clients`, which sets TEST_CLIENT_GENERATORS.')
  return generators
}

/** Opens a workbench with the generators, or with packages from another directory. */
export function openWorkbench(generators = generatorsDirectory()): Workbench {
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
    write: (name, text) => {
      mkdirSync(dirname(join(directory, name)), { recursive: true })
      writeFileSync(join(directory, name), text)
    },
    run: (program, ...args) => run(program, args),
    node: (program, ...args) => run(process.execPath, [join(directory, program), ...args]),
    python: (...args) => run(join(bin, 'python'), args),
    close: () => rmSync(directory, { recursive: true, force: true }),
  }
}

/** Compiles a program and its imports in strict mode, runs it against the service, and parses its output as JSON. */
export async function runTyped(
  bench: Workbench,
  { name, text }: { name: string; text: string },
  { url, adminToken }: Pick<TestService, 'url' | 'adminToken'>,
): Promise<unknown> {
  bench.write(`${name}.ts`, text)
  bench.write('tsconfig.json', JSON.stringify({ ...TSCONFIG, include: [`${name}.ts`] }))
  const complaints = await bench.node('node_modules/typescript/bin/tsc', '-p', '.')
  if (complaints !== '') throw new Error(complaints)
  const outfile = join(bench.directory, `${name}.mjs`)
  const entryPoints = [join(bench.directory, `${name}.ts`)]
  await build({ entryPoints, outfile, bundle: true, format: 'esm', platform: 'node', target: 'es2022' })
  return JSON.parse(await bench.node(`${name}.mjs`, url, adminToken))
}

const TSCONFIG = {
  compilerOptions: {
    ...{ strict: true, noEmit: true, skipLibCheck: true, target: 'ES2022', module: 'ESNext' },
    ...{ moduleResolution: 'bundler', lib: ['ES2023', 'DOM', 'DOM.Iterable'], types: ['node'] },
  },
}
