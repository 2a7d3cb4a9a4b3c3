import { spawnSync } from 'node:child_process'
import { createHash, type Hash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findMachineImage, vmCache } from '../../../infra/vm/image.ts'
import { installPackage, untilServing } from './boxyard.ts'
import { createMachine, type Machine, type SavedMachine } from './machine.ts'
import { packWorkTree } from './release.ts'

/**
 * Starts a bare Debian, without Boxyard. Resumes a machine saved after its boot, which takes about 10 s. For a new image, boots the first
 * machine in about 40 s, and saves it.
 */
export async function startBooted(): Promise<Machine> {
  const machine = await startSaved(await savedBooted(), async (saved) => {
    const first = await createMachine()
    try {
      await first.start()
      // The command fails if a unit failed. Tests must detect that, so the failure does not matter here.
      await first.try('systemctl is-system-running --wait')
      await keepMachine(first, saved)
    } finally {
      await first.close()
    }
  })
  // Sets the clock, because a resumed machine continues at the time of its save. Later files would otherwise come from its future.
  await machine.run(`date -s @${Math.ceil(Date.now() / 1000)}`)
  return machine
}

/**
 * Starts a machine that serves Boxyard from the package of this work tree, without boxes. Resumes a machine saved when it first served,
 * which takes about 10 s. For a new work tree, installs the package on the first machine in about two minutes, and saves it.
 */
export async function startInstalled(): Promise<Machine> {
  const deb = await packWorkTree()
  const machine = await startSaved(await savedInstalled(deb), (saved) => install(deb, saved))
  keepFromRemoval(await savedBooted())
  return machine
}

type SavedState = Required<SavedMachine>

async function startSaved(saved: SavedState, make: (saved: SavedState) => Promise<void>): Promise<Machine> {
  for (let tries = 1; ; tries += 1) {
    if (!existsSync(dirname(saved.disk))) await make(saved)
    keepFromRemoval(saved)
    // QEMU occasionally saves a processor state that makes the kernel fail soon after each resume ("BUG: …").
    const machine = await createMachine({ from: existsSync(saved.state) ? saved : { disk: saved.disk } })
    try {
      await machine.start()
      await machine.run(WORK)
      return machine
    } catch (error) {
      await machine.close()
      if (tries === TRIES) throw error
      rmSync(saved.state, { force: true })
      process.stderr.write(`The machine did not go on from where it was saved: ${String(error).split('\n')[0]}\n`)
    }
  }
}

async function install(deb: string, saved: SavedState): Promise<void> {
  const machine = await startBooted()
  try {
    await installPackage(machine, deb)
    await untilServing(machine)
    await keepMachine(machine, saved)
  } finally {
    await machine.close()
  }
}

/** Saves a machine on which `deb` serves, for `startInstalled`. The machine ends. */
export async function keepInstalled(machine: Machine, deb: string): Promise<void> {
  const saved = await savedInstalled(deb)
  if (!existsSync(dirname(saved.disk))) await keepMachine(machine, saved)
}

async function keepMachine(machine: Machine, saved: SavedState): Promise<void> {
  const directory = dirname(saved.disk)
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  removeOld(dirname(directory))
  const file = (path: string): string => join(unfinished, basename(path))
  // A start without the saved state finds only data on the disk.
  await machine.run('sync')
  await machine.save({ disk: file(saved.disk), state: file(saved.state) })
  renameSync(unfinished, directory)
}

/** Stored beside the image, since this machine and its overlays need the image. */
async function savedBooted(): Promise<SavedState> {
  const image = await findMachineImage((text) => process.stderr.write(`${text}\n`))
  return savedIn(join(image.directory, 'booted', (await hashOfMachine()).digest('hex').slice(0, 16)))
}

async function savedInstalled(deb: string): Promise<SavedState> {
  const hash = (await hashOfMachine()).update(basename(dirname(deb)))
  hash.update(readFileSync(join(import.meta.dirname, 'boxyard.ts')))
  return savedIn(join(vmCache(), 'installed', hash.digest('hex').slice(0, 16)))
}

function savedIn(directory: string): SavedState {
  return { disk: join(directory, 'disk.qcow2'), state: join(directory, 'state') }
}

/** Hashes everything that a saved state depends on, including the QEMU version and its set of devices. */
async function hashOfMachine(): Promise<Hash> {
  const image = await findMachineImage((text) => process.stderr.write(`${text}\n`))
  const hash = createHash('sha256').update(basename(image.directory))
  for (const name of ['emulator.ts', 'installed.ts', 'machine.ts'])
    hash.update(readFileSync(join(import.meta.dirname, name)))
  return hash.update(spawnSync('qemu-img', ['--version'], { encoding: 'utf8' }).stdout ?? '')
}

/** Marks a machine as recently used. `removeOld` keeps the most recently used ones. */
function keepFromRemoval({ disk }: SavedState): void {
  utimesSync(dirname(disk), new Date(), new Date())
}

function removeOld(kept: string): void {
  const paths = readdirSync(kept).map((name) => join(kept, name))
  paths.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  for (const path of paths.slice(KEPT_MACHINES)) rmSync(path, { recursive: true })
}

const KEPT_MACHINES = 3
const TRIES = 3
/** Keeps both processors busy with processes for some seconds. */
const WORK = `for half in 1 2; do for i in $(seq 20); do sleep 0.1; ls /proc >/dev/null; done & done; wait`
