import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { dieWithParent } from '../../../infra/commands.ts'

export interface ShellResult {
  exitCode: number
  stdout: string
  stderr: string
}

export interface ShellOptions {
  /** File of this host with the script's standard input. */
  input?: string
  /** Time limit in ms. The default is ten minutes, because an emulated machine on a busy host is slow. */
  timeoutMs?: number
}

/** SSH access to a machine, as root. */
export interface Ssh {
  /** Opens the connection that shells share. Rejects if the machine does not answer. */
  connect(): Promise<void>
  /** Closes that connection, even if the machine is gone. */
  disconnect(): Promise<void>
  /** Runs a shell script to its end. Rejects if the machine does not answer, and after the time limit. */
  shell(script: string, options?: ShellOptions): Promise<ShellResult>
  /** Runs a script over its own connection, and so in its own login session. */
  login(script: string, options?: ShellOptions): Promise<ShellResult>
  /** Forwards `localPort` of this host's loopback to a port of the guest's loopback, until the connection ends. */
  forward(localPort: number, guestPort: number): Promise<void>
}

/** Creates SSH access through `port` of this host. `key` is the file of the private key. The control socket is in `directory`. */
export function createSsh({ port, key, directory }: { port: number; key: string; directory: string }): Ssh {
  const control = join(directory, 'ssh')
  const options = [
    ...['-F', 'none', '-i', key, '-p', String(port), '-o', 'BatchMode=yes', '-o', 'LogLevel=ERROR'],
    ...['-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
    ...['-o', 'ConnectTimeout=60', '-o', 'ServerAliveInterval=15', '-o', 'ServerAliveCountMax=20'],
  ]
  const shared = [...options, '-o', `ControlPath=${control}`]
  let master: ChildProcess | null = null
  const disconnect = async (): Promise<void> => {
    if (master !== null && master.exitCode === null && master.signalCode === null) {
      master.kill('SIGKILL')
      await once(master, 'exit')
    }
    master = null
    await rm(control, { force: true })
  }
  return {
    async connect() {
      await disconnect()
      const started = start([...shared, '-o', 'ControlMaster=yes', '-N', TARGET], 'ignore')
      master = started
      const hasEnded = (): boolean => started.exitCode !== null || started.signalCode !== null
      while ((await runSsh([...shared, '-O', 'check', TARGET])).exitCode !== 0) {
        if (hasEnded()) throw new Error('The machine does not answer.')
        await pause(250)
      }
    },
    disconnect,
    shell: (script, wanted) => runSsh([...shared, TARGET, script], wanted).then(assertReached),
    login: (script, wanted) =>
      runSsh([...options, '-o', 'ControlPath=none', TARGET, script], wanted).then(assertReached),
    async forward(localPort, guestPort) {
      const address = `127.0.0.1:${localPort}:127.0.0.1:${guestPort}`
      const { exitCode, stderr } = await runSsh([...shared, '-O', 'forward', '-L', address, TARGET])
      if (exitCode !== 0) throw new Error(`Port ${guestPort} cannot be forwarded: ${stderr}`)
    },
  }
}

async function runSsh(
  args: readonly string[],
  { input, timeoutMs = 600_000 }: ShellOptions = {},
): Promise<ShellResult> {
  const child = start(args, 'pipe')
  const stdout = collect(child.stdout)
  const stderr = collect(child.stderr)
  child.stdin?.on('error', () => undefined)
  if (input === undefined) child.stdin?.end()
  else if (child.stdin !== null) createReadStream(input).pipe(child.stdin)
  const limit = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  const [exitCode, signal] = (await once(child, 'close')) as [number | null, string | null]
  clearTimeout(limit)
  if (exitCode === null) throw new Error(`${signal} within ${timeoutMs} ms: ${args.at(-1)}\n${stdout()}${stderr()}`)
  return { exitCode, stdout: stdout(), stderr: stderr() }
}

function start(args: readonly string[], stdio: 'pipe' | 'ignore'): ChildProcess {
  const [program = '', ...rest] = dieWithParent(['ssh', ...args])
  return spawn(program, rest, { stdio })
}

function collect(stream: ChildProcess['stdout']): () => string {
  const chunks: Buffer[] = []
  stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

function assertReached(result: ShellResult): ShellResult {
  if (result.exitCode === CONNECTION_FAILED) throw new Error(`The machine is not reached: ${result.stderr}`)
  return result
}

const TARGET = 'root@127.0.0.1'
/** ssh's own exit code for a failed connection. Scripts must not use it. */
const CONNECTION_FAILED = 255
