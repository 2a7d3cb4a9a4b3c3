import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ROOT } from '../../../infra/commands.ts'
import { runNpm } from '../../../infra/made-once/npm.ts'
import { packSdk } from '../../../infra/release/clients.ts'

/** A user's directory with the packed SDK installed. */
export interface UserDirectory {
  readonly path: string
  /** Compiles modules, named without `.ts`, in strict mode and writes `.js` beside them. @throws Error with the compiler's output */
  compile(modules: Readonly<Record<string, string>>): Promise<void>
  /** Runs a compiled module and returns its output. @throws Error if it fails or prints to stderr */
  run(runtime: readonly string[], module: string, ...args: string[]): Promise<string>
  close(): void
}

/** Packs the SDK of this checkout and installs it offline into an empty directory, from the cache in TEST_SDK_RUNTIMES. */
export async function installSdk(): Promise<UserDirectory> {
  const path = mkdtempSync(join(tmpdir(), 'boxyard-sdk-user-'))
  const packed = join(path, 'packed')
  mkdirSync(packed)
  writeFileSync(join(path, 'package.json'), '{ "private": true, "type": "module" }\n')
  const cache = join(sdkRuntimes(), 'npm-cache')
  await runNpm(['install', '--offline', '--logs-max=0', '--cache', cache, await packSdk(ROOT, packed)], {
    what: 'Installing the SDK',
    cwd: path,
    say: (text) => void process.stderr.write(`${text}\n`),
  })
  return {
    path,
    compile: async (modules) => {
      for (const [name, text] of Object.entries(modules)) writeFileSync(join(path, `${name}.ts`), text)
      const files = Object.keys(modules).map((name) => `${name}.ts`)
      const typeRoots = [join(sdkRuntimes(), 'node_modules/@types')]
      const settings = { compilerOptions: { ...COMPILER_OPTIONS, typeRoots }, files }
      writeFileSync(join(path, 'tsconfig.json'), JSON.stringify(settings))
      await runIn(path, [process.execPath, join(sdkRuntimes(), 'node_modules/typescript/bin/tsc'), '-p', '.'])
    },
    run: (runtime, module, ...args) => runIn(path, [...runtime, join(path, `${module}.js`), ...args]),
    close: () => rmSync(path, { recursive: true, force: true }),
  }
}

/** Returns the directory of `findSdkRuntimes`. */
export function sdkRuntimes(): string {
  const directory = process.env['TEST_SDK_RUNTIMES']
  if (directory === undefined) throw new Error('Run this by `npm test -- runtimes`, which sets TEST_SDK_RUNTIMES.')
  return directory
}

/** Returns the path of Node.js 20, the oldest version that clients support. */
export function oldestNode(): string {
  const arch = process.arch === 'arm64' ? 'arm64' : 'x64'
  return join(sdkRuntimes(), `node_modules/node-linux-${arch}/bin/node`)
}

async function runIn(cwd: string, [program = '', ...args]: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'], HOME: cwd, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1' }
  const options = { cwd, env, maxBuffer: 64 * 1024 ** 2 }
  const told = await promisify(execFile)(program, args, options).catch((error: unknown) => {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(' ')} failed\n${stdout}${stderr}`, { cause: error })
  })
  if (told.stderr !== '') throw new Error(`${program} ${args.join(' ')} says\n${told.stderr}`)
  return told.stdout
}

/** Options of a strict user, who also checks the types of packages. */
const COMPILER_OPTIONS = {
  ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
  ...{
    target: 'es2022',
    module: 'nodenext',
    lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'],
    types: ['node'],
  },
}
