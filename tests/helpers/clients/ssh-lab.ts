import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll } from '@jest/globals'
import { buildCli } from '../../../infra/cli-bundle.ts'
import type { UsedService } from '../own-service.ts'
import type { SharedService } from '../shared-service.ts'

/** Output and exit code of a finished program. */
export interface Ran {
  code: number | null
  stdout: Buffer
  stderr: string
}

export interface ProgramInput {
  input?: string | Buffer
  env?: Record<string, string>
}

/** A service and a home directory with the SSH configuration installed. */
export interface SshLab<Service extends SharedService = SharedService> extends UsedService<Service> {
  /** Returns a path below the home directory. */
  path(...names: string[]): string
  /** Runs a program to completion, with this home directory. */
  run(program: string, args: readonly string[], options?: ProgramInput): Promise<Ran>
  start(program: string, args: readonly string[], env?: Record<string, string>): ChildProcessWithoutNullStreams
  /** Runs the command line. */
  boxyard(...args: string[]): Promise<Ran>
  /** Runs ssh non-interactively with the installed configuration. */
  ssh(args: readonly string[], options?: ProgramInput): Promise<Ran>
  /** Arguments that point ssh, scp and sftp to the installed configuration. They would use the password file's home directory. */
  config(): string[]
}

/** Sets up the lab before the tests of the calling file, with the box `web` in `demo`. */
export function useSshLab<Service extends SharedService>(used: UsedService<Service>): SshLab<Service> {
  let home = ''
  let program = ''
  const started = new Set<ChildProcessWithoutNullStreams>()
  const start: SshLab['start'] = (name, args, env = {}) => {
    const { url, adminToken } = used.service()
    const user = { PATH: process.env['PATH'], HOME: home, BOXYARD_URL: url, BOXYARD_TOKEN: adminToken }
    const child = spawn(name, args, { cwd: home, env: { ...user, BOXYARD_PROJECT: 'demo', TERM: 'xterm', ...env } })
    child.stdin.on('error', () => undefined)
    started.add(child)
    child.once('close', () => started.delete(child))
    return child
  }
  const lab: SshLab<Service> = {
    ...used,
    path: (...names) => join(home, ...names),
    start,
    run: (name, args, { input = '', env = {} } = {}) => {
      const child = start(name, args, env)
      child.stdin.end(input)
      return runToEnd(child)
    },
    boxyard: (...args) => lab.run(process.execPath, [program, ...args]),
    ssh: (args, options) => lab.run('ssh', [...lab.config(), ...args], options),
    config: () => ['-F', join(home, '.ssh/config'), '-o', 'BatchMode=yes'],
  }
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), 'boxyard-ssh-'))
    program = await buildCli(home)
    const { status } = await used.client.post('/v1/projects/demo/boxes', { name: 'web' })
    const { code, stderr } = await lab.boxyard('ssh-config', '--install')
    if (status !== 201 || code !== 0) throw new Error(`The lab could not be made: ${status}, ${stderr}`)
  })
  afterAll(() => {
    for (const child of started) child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
  })
  return lab
}

/** Waits until a program ends. */
export function runToEnd(child: ChildProcessWithoutNullStreams): Promise<Ran> {
  const stdout: Buffer[] = []
  let stderr = ''
  child.stdout.on('data', (piece: Buffer) => stdout.push(piece))
  child.stderr.on('data', (piece: Buffer) => (stderr += piece.toString('utf8')))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, stdout: Buffer.concat(stdout), stderr }))
  })
}

/** Creates a tar of programs on this machine, their libraries, and other files and directories, for boxes that lack them. */
export function packPrograms(paths: readonly string[], others: readonly string[] = []): Buffer {
  const libraries = paths.flatMap((path) => {
    const listed = execFileSync('ldd', [path], { encoding: 'utf8' })
    return [...listed.matchAll(/(\/\S+) \(0x/g)].map(([, library = '']) => library)
  })
  const names = [...new Set([...paths, ...libraries, ...others])].map((path) => path.slice(1))
  return execFileSync('tar', ['-c', '-h', '-C', '/', ...names], { maxBuffer: 256 * 1024 ** 2 })
}
