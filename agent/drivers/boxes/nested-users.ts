import fs from 'node:fs'
import type { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import { readTextIfThere } from '../../lib/disk/file-text.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { readInnerPid } from '../host/handle.ts'
import { createTreePaths, type MountLine } from '../host/mount-info.ts'
import { type MountedBox, placeOf, readMounts, readMountTable } from './mount-table.ts'
import { findTreeUsers } from './mount-users.ts'

/**
 * Refuses while processes of a box with nesting use a volume: by open files, in mount namespaces of their own, or as a layer of an
 * overlay. Mounts that follow those in the box's own mount namespace do not count, since they vanish with them. A hostile box can
 * keep a volume in ways that this does not see (docs/security.md).
 * @throws ServiceError `volume_busy`, with the users
 */
export async function checkNestedUsers(box: MountedBox, source: string, pids: readonly number[]): Promise<void> {
  const users = await findTreeUsers(pids, fs.statSync(source).dev)
  if (users.length > 0) throw busy('Processes of the box use the volume', users)
  const own = readMountTable(box)
  if (!own.isWhole)
    throw refusal('volume_busy', [
      'The box has too many mounts to find what uses the volume.',
      'Unmount some, or stop the box.',
    ])
  const held = own.showing(source)
  const places = held.map(({ path }) => path)
  const overlay = own.all.find((line) => hasLayerIn(line, places))
  if (overlay !== undefined)
    throw refusal('volume_busy', [
      `The overlay at ${overlay.path} in the box has layers in the volume.`,
      'Unmount it first, or stop its container.',
    ])
  const groups = new Set(held.map(({ peerGroup }) => peerGroup).filter((group) => group !== null))
  const shows = viewOf(box.rootPath, source)
  const others = processesByNamespace(pids, box.pid).filter((pid) => {
    const { lines, isWhole } = readMounts(pid)
    const isHeld = (line: MountLine): boolean => shows(line) && !groups.has(line.masterGroup ?? -1)
    return !isWhole || lines.some((line) => isHeld(line) || hasLayerIn(line, places))
  })
  if (others.length > 0)
    throw busy(
      'Containers in the box have the volume mounted',
      others.map((pid) => ({ pid: readInnerPid(pid) ?? 0, name: nameOf(pid) })),
    )
}

/** Returns a test of whether a mount shows the volume at a host path, or a part of it. */
function viewOf(rootPath: string, source: string): (line: MountLine) => boolean {
  const { device, root } = placeOf(rootPath)
  const { hostPath } = createTreePaths(rootPath, root)
  return (line) => line.device === device && `${hostPath(line.root)}/`.startsWith(`${source}/`)
}

function hasLayerIn({ type, superOptions }: MountLine, places: readonly string[]): boolean {
  if (type !== 'overlay') return false
  const layers = superOptions.split(/[,:=]/)
  return places.some((place) => layers.some((layer) => `${layer}/`.startsWith(`${place}/`)))
}

/** Returns one process for each mount namespace in which there are processes, except the namespace of process `except`. */
function processesByNamespace(pids: readonly number[], except: number): number[] {
  const found = new Map<string, number>()
  for (const pid of pids) found.set(namespaceOf(pid), pid)
  for (const known of ['', namespaceOf(except)]) found.delete(known)
  return [...found.values()]
}

function namespaceOf(pid: number): string {
  try {
    return fs.readlinkSync(`/proc/${pid}/ns/mnt`)
  } catch (error) {
    // The process has ended.
    if (isErrno(error, 'ENOENT', 'ESRCH', 'EINVAL', 'EACCES')) return ''
    throw error
  }
}

function nameOf(pid: number): string {
  return readTextIfThere(`/proc/${pid}/comm`).replaceAll(/[^\x20-\x7e]/g, '')
}

function busy(what: string, users: readonly { pid: number; name: string }[]): ServiceError {
  const named = users.map(({ pid, name }) => `${pid} (${name})`).join(', ')
  return refusal('volume_busy', [`${what}: ${named}.`, 'End them first.'])
}
