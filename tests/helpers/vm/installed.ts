import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { findMachineImage, vmCache } from '../../../infra/vm/image.ts'
import { installPackage, untilServing } from './boxyard.ts'
import { createMachine, type Machine, type SavedMachine } from './machine.ts'
import { packWorkTree } from './release.ts'

/**
 * Starts a machine on which the package of this work tree is installed and serves, with no box. It goes on from one that was saved when
 * it came up (some 10 s), unless this is the first of this tree: then it is installed (some two minutes) and saved.
 */
export async function startInstalled(): Promise<Machine> {
  const deb = await packWorkTree()
  const saved = await savedOf(deb)
  if (!existsSync(dirname(saved.disk))) await install(deb, saved)
  utimesSync(dirname(saved.disk), new Date(), new Date())
  const machine = await createMachine({ from: saved })
  try {
    await machine.start()
    return machine
  } catch (error) {
    await machine.close()
    throw error
  }
}

async function install(deb: string, saved: SavedMachine): Promise<void> {
  const machine = await createMachine()
  try {
    await machine.start()
    await installPackage(machine, deb)
    await untilServing(machine)
    await keepMachine(machine, saved)
  } finally {
    await machine.close()
  }
}

/** Saves a machine on which `deb` serves for `startInstalled`. Ends it. */
export async function keepInstalled(machine: Machine, deb: string): Promise<void> {
  const saved = await savedOf(deb)
  if (!existsSync(dirname(saved.disk))) await keepMachine(machine, saved)
}

async function keepMachine(machine: Machine, saved: SavedMachine): Promise<void> {
  const directory = dirname(saved.disk)
  const unfinished = `${directory}.unfinished`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  removeOld(dirname(directory))
  const file = (path: string): string => join(unfinished, basename(path))
  await machine.save({ disk: file(saved.disk), state: file(saved.state) })
  renameSync(unfinished, directory)
}

/** Names the files by all that they depend on: a state is of one QEMU with one set of devices. */
async function savedOf(deb: string): Promise<SavedMachine> {
  const image = await findMachineImage((text) => process.stderr.write(`${text}\n`))
  const hash = createHash('sha256').update(`${basename(image.directory)} ${basename(dirname(deb))}`)
  for (const name of ['boxyard.ts', 'emulator.ts', 'machine.ts'])
    hash.update(readFileSync(join(import.meta.dirname, name)))
  hash.update(spawnSync('qemu-img', ['--version'], { encoding: 'utf8' }).stdout ?? '')
  const directory = join(vmCache(), 'installed', hash.digest('hex').slice(0, 16))
  return { disk: join(directory, 'disk.qcow2'), state: join(directory, 'state') }
}

function removeOld(kept: string): void {
  const paths = readdirSync(kept).map((name) => join(kept, name))
  paths.sort((one, other) => statSync(other).mtimeMs - statSync(one).mtimeMs)
  for (const path of paths.slice(KEPT_MACHINES)) rmSync(path, { recursive: true })
}

const KEPT_MACHINES = 3
