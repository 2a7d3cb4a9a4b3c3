import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { findMachineImage, type MachineImage } from '../../../infra/vm/image.ts'
import { type Emulator, readConsoleEnd, startEmulator } from './emulator.ts'
import { saveState } from './monitor.ts'
import { createSsh, type ShellOptions, type ShellResult, type Ssh } from './ssh.ts'

export interface MachineOptions {
  /** Files from `save`. The first start resumes from them. Default: the bare Debian. */
  from?: SavedMachine | undefined
}

/** Files of a machine saved while it ran. They never change, and neither does the disk below its overlay. */
export interface SavedMachine {
  /** Its qcow2 disk. */
  disk: string
  /** Its memory and devices. Without them, it boots from the disk, as after a power cut at that time. */
  state?: string
}

/** An emulated Debian 13 with systemd and cgroup v2, on its own disk. */
export interface Machine {
  /** Switches it on. Resolves with the elapsed seconds once SSH connects. Rejects if its kernel fails. */
  start(): Promise<number>
  /** Runs a shell script as root and returns its stdout. If it fails, rejects with all its output. */
  run(script: string, options?: ShellOptions): Promise<string>
  /** Runs a shell script that may fail, as root. Rejects if the machine's kernel fails. */
  try(script: string, options?: ShellOptions): Promise<ShellResult>
  /** Runs a script in its own login session, which ends with it. */
  login(script: string, options?: ShellOptions): Promise<ShellResult>
  /** Copies a file of this host to `path` on the machine. */
  copyIn(file: string, path: string): Promise<void>
  /** Resolves once a script succeeds. After `timeoutMs` (default: 20 minutes), rejects with its last output and the console. */
  until(script: string, timeoutMs?: number): Promise<string>
  /** Returns the port of this host that leads to `guestPort` on the guest's loopback. It stays valid after a restart of the machine. */
  reach(guestPort: number): Promise<number>
  /** Lets the guest reboot, and resolves once SSH connects again. */
  reboot(): Promise<void>
  /** Cuts the power without a flush or a notice. `start` switches it on again. */
  cutPower(): Promise<void>
  /** Lets the guest power off, which flushes all data. */
  shutDown(): Promise<void>
  /** Saves the running machine to files. The machine ends. */
  save(to: Required<SavedMachine>): Promise<void>
  /** Returns its last lines of serial console output. */
  console(): string
  /** Cuts the power and removes the disk. */
  close(): Promise<void>
}

/** Creates a machine that is off. Its disk is an overlay, so the disk below it never changes. */
export async function createMachine(options: MachineOptions = {}): Promise<Machine> {
  const image = await findMachineImage((text) => process.stderr.write(`${text}\n`))
  removeAbandoned()
  const directory = mkdtempSync(`${DIRECTORIES}${process.pid}-`)
  const disk = join(directory, 'disk.qcow2')
  const backing = options.from?.disk ?? image.disk
  makeOverlay(disk, backing)
  const sshPort = await freePort()
  const ssh = createSsh({ port: sshPort, key: image.key, directory })
  return new EmulatedMachine({ image, directory, disk, backing, state: options.from?.state, sshPort, ssh })
}

interface Parts {
  image: MachineImage
  directory: string
  disk: string
  /** The disk below its overlay. */
  backing: string
  state: string | undefined
  sshPort: number
  ssh: Ssh
}

class EmulatedMachine implements Machine {
  readonly #parts: Parts
  readonly #forwards = new Map<number, number>()
  #emulator: Emulator | null = null
  #hasStarted = false

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async start(): Promise<number> {
    const startedAt = performance.now()
    const { directory, state, ...parts } = this.#parts
    this.#emulator = startEmulator({
      ...parts,
      memoryMb: MEMORY_MB,
      console: this.#consolePath,
      monitor: join(directory, 'monitor'),
      state: this.#hasStarted ? undefined : state,
    })
    this.#hasStarted = true
    await this.#connect()
    return (performance.now() - startedAt) / 1000
  }

  async run(script: string, options?: ShellOptions): Promise<string> {
    const { exitCode, stdout, stderr } = await this.try(script, options)
    if (exitCode === 0) return stdout.trimEnd()
    throw new Error(`Exit code ${exitCode} of the machine's shell:\n${script}\n${stdout}${stderr}`)
  }

  try(script: string, options?: ShellOptions): Promise<ShellResult> {
    return this.#unlessFailed(this.#ssh.shell(script, options))
  }

  login(script: string, options?: ShellOptions): Promise<ShellResult> {
    return this.#ssh.login(script, options)
  }

  async copyIn(file: string, path: string): Promise<void> {
    await this.run(`cat >'${path}'`, { input: file })
  }

  async until(script: string, timeoutMs = PATIENCE_MS): Promise<string> {
    for (const deadline = performance.now() + timeoutMs; ; ) {
      const { exitCode, stdout, stderr } = await this.try(script)
      if (exitCode === 0) return stdout.trimEnd()
      if (performance.now() > deadline) {
        throw new Error(`It never came about:\n${script}\n${stdout}${stderr}\nConsole:\n${this.console()}`)
      }
      await pause(500)
    }
  }

  async reach(guestPort: number): Promise<number> {
    const known = this.#forwards.get(guestPort)
    if (known !== undefined) return known
    const port = await freePort()
    await this.#ssh.forward(port, guestPort)
    this.#forwards.set(guestPort, port)
    return port
  }

  async reboot(): Promise<void> {
    const boot = await this.run(BOOT_ID)
    await this.#ssh.login('systemctl reboot').catch(() => undefined)
    for (const deadline = performance.now() + PATIENCE_MS; ; ) {
      await this.#connect()
      const now = await this.try(BOOT_ID).catch(() => null)
      if (now?.exitCode === 0 && now.stdout.trim() !== boot) return
      if (performance.now() > deadline) throw new Error(`It does not reboot. Console:\n${this.console()}`)
      await pause(1_000)
    }
  }

  async cutPower(): Promise<void> {
    await this.#emulator?.kill()
    await this.#ssh.disconnect()
  }

  async shutDown(): Promise<void> {
    await this.#ssh.login('systemctl poweroff').catch(() => undefined)
    const limit = setTimeout(() => void this.#emulator?.kill(), PATIENCE_MS)
    await this.#emulator?.ended()
    clearTimeout(limit)
    await this.#ssh.disconnect()
  }

  async save(to: Required<SavedMachine>): Promise<void> {
    await this.#ssh.disconnect()
    await saveState(join(this.#parts.directory, 'monitor'), to.state)
    await this.#emulator?.ended()
    const { disk, backing } = this.#parts
    run('qemu-img', ['convert', '-O', 'qcow2', '-B', backing, '-F', formatOf(backing), disk, to.disk])
  }

  console(): string {
    return readConsoleEnd(this.#consolePath)
  }

  async close(): Promise<void> {
    await this.cutPower()
    rmSync(this.#parts.directory, { recursive: true })
  }

  get #consolePath(): string {
    return join(this.#parts.directory, 'console.log')
  }

  get #ssh(): Ssh {
    return this.#parts.ssh
  }

  get #hasFailed(): boolean {
    // The error can be further back than the lines that `console` returns.
    return KERNEL_FAULT.test(readConsoleEnd(this.#consolePath, Number.POSITIVE_INFINITY))
  }

  /** Resolves as `work` does. Rejects if the machine's kernel fails, because `work` may then never end. */
  async #unlessFailed<T>(work: Promise<T>): Promise<T> {
    const isOver = new AbortController()
    const fault = async (): Promise<never> => {
      while (!this.#hasFailed) await pause(1_000, undefined, { signal: isOver.signal })
      throw new Error(`Its kernel has failed. Console:\n${this.console()}`)
    }
    try {
      return await Promise.race([work, fault()])
    } finally {
      isOver.abort()
    }
  }

  async #connect(): Promise<void> {
    for (const deadline = performance.now() + PATIENCE_MS; ; ) {
      try {
        await this.#unlessFailed(this.#ssh.connect())
        for (const [guestPort, port] of this.#forwards) await this.#ssh.forward(port, guestPort)
        if (this.#hasFailed) throw new Error('Its kernel has failed.')
        return
      } catch (error) {
        if (this.#emulator?.hasEnded) await this.#emulator.ended()
        if (this.#emulator?.hasEnded || this.#hasFailed || performance.now() > deadline)
          throw new Error(`The machine is not reached. Console:\n${this.console()}`, { cause: error })
        await pause(500)
      }
    }
  }
}

function makeOverlay(disk: string, backing: string): void {
  run('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', backing, '-F', formatOf(backing), disk])
}

function formatOf(disk: string): string {
  return disk.endsWith('.raw') ? 'raw' : 'qcow2'
}

function run(program: string, args: readonly string[]): void {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'inherit'] })
}

/** Removes the disks that killed processes left behind. */
function removeAbandoned(): void {
  for (const name of readdirSync(dirname(DIRECTORIES))) {
    const pid = /^boxyard-vm-(\d+)-/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`))
      rmSync(join(dirname(DIRECTORIES), name), { recursive: true, force: true })
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

// On a disk, because a file in memory may not support I/O that bypasses the host's cache.
const DIRECTORIES = '/var/tmp/boxyard-vm-'
const BOOT_ID = 'cat /proc/sys/kernel/random/boot_id'
/** A boot takes 40 s on an idle machine. On a busy one it took more than five minutes. */
const PATIENCE_MS = 1_200_000
const KERNEL_FAULT = /Kernel panic|BUG: /
const MEMORY_MB = 3_072
