import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { dieWithParent } from '../../../infra/commands.ts'
import { MACHINE_ARCHITECTURE, type MachineImage } from '../../../infra/vm/image.ts'

export interface EmulatorOptions {
  image: Pick<MachineImage, 'kernel' | 'initrd'>
  /** A qcow2 disk that the machine can write to. */
  disk: string
  memoryMb: number
  /** Port on this host's loopback that leads to the guest's port 22. */
  sshPort: number
  /** File for the machine's serial console output. Later starts append to it. */
  console: string
  /** Socket of QEMU's monitor (QMP). */
  monitor: string
  /** File from `saveState`. The machine resumes from it instead of booting. */
  state?: string | undefined
}

/** A QEMU process, which is one machine from power-on to power-off. */
export interface Emulator {
  readonly hasEnded: boolean
  /** Cuts the power by killing QEMU. Data that the guest did not flush is lost. Resolves when QEMU has ended. */
  kill(): Promise<void>
  /** Resolves when the guest has powered off, or QEMU has ended. */
  ended(): Promise<void>
}

/**
 * Starts a machine with two emulated processors.
 * - `/dev/kvm` of a virtual host often opens, but then cannot run a stock kernel. Set `BOXYARD_VM_ACCEL=kvm` to use it.
 * - Disk writes bypass the host's cache (`cache=none`). So a flush by the guest is what makes data durable.
 */
export function startEmulator(options: EmulatorOptions): Emulator {
  const { image, disk, memoryMb, sshPort, console, monitor, state } = options
  const isArm = MACHINE_ARCHITECTURE === 'arm64'
  const isKvm = process.env['BOXYARD_VM_ACCEL'] === 'kvm'
  const [program = '', ...args] = dieWithParent([
    ...(isArm ? ['qemu-system-aarch64', '-machine', 'virt'] : ['qemu-system-x86_64']),
    // With one thread for each processor, the guest's kernel panicked when it patched its own code.
    ...(isKvm ? ['-accel', 'kvm', '-cpu', 'host'] : ['-accel', 'tcg,thread=single,tb-size=512', '-cpu', 'max']),
    ...['-m', String(memoryMb), '-smp', '2', '-display', 'none', '-nodefaults', '-no-user-config'],
    ...['-qmp', `unix:${monitor},server=on,wait=off`],
    ...(state === undefined ? [] : ['-incoming', `exec:cat '${state}'`]),
    ...['-chardev', `file,id=console,path=${console},append=on`, '-serial', 'chardev:console'],
    ...['-kernel', image.kernel, '-initrd', image.initrd],
    ...['-append', `root=/dev/vda rw console=${isArm ? 'ttyAMA0' : 'ttyS0'} net.ifnames=0 nowatchdog no_timer_check`],
    ...['-drive', `file=${disk},format=qcow2,if=virtio,cache=none,discard=unmap`],
    ...['-netdev', `user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:${sshPort}-:22`],
    ...['-device', 'virtio-net-pci,netdev=net,romfile=', '-device', 'virtio-rng-pci'],
  ])
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const isGone = (): boolean => child.exitCode !== null || child.signalCode !== null
  const words = wordsOf(child)
  return {
    get hasEnded() {
      return isGone()
    },
    async kill() {
      if (isGone()) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
    async ended() {
      if (!isGone()) await once(child, 'exit')
      if (child.exitCode !== 0 && child.signalCode === null) throw new Error(`QEMU failed: ${words()}`)
    },
  }
}

function wordsOf(child: ChildProcess): () => string {
  let text = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    text = `${text}${chunk.toString()}`.slice(-KEPT_CHARACTERS)
  })
  child.on('error', (error) => {
    text += error.message
  })
  return () => text.trim()
}

/** Returns the last lines of a console, without control sequences. */
export function readConsoleEnd(path: string, lines = 60): string {
  let text = ''
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    return ''
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by them.
  const plain = text.replaceAll(/\x1b\[[0-9;?]*[A-Za-z]/g, '').replaceAll('\r', '')
  return plain.split('\n').slice(-lines).join('\n')
}

const KEPT_CHARACTERS = 4_000
