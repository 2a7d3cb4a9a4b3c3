import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { buffer } from 'node:stream/consumers'
import { createHostFiles, type HostFiles } from '../../../agent/drivers/files/files.ts'
import type { FilesRoot, UnpackReport } from '../../../agent/ports/files/files.ts'
import { untilGone } from '../boxes/oci-lab.ts'
import { openVolumeLab, type VolumeLab } from '../volumes/lab.ts'

/** A running box with a volume at /srv/data. A second box id gives access to the same files as if the box were stopped. */
export interface ArchiveLab {
  volumes: VolumeLab
  files: HostFiles
  rootPath: string
  volumePath: string
  places: { runs: FilesRoot; stopped: FilesRoot }
  /** Creates a directory outside any box. */
  newDirectory(): string
  /** Creates a directory in the box. */
  newInBox(): { path: string; onHost: string }
  close(): Promise<void>
}

export type View = keyof ArchiveLab['places']

/** Opens a lab. The caller must close it. */
export async function openArchiveLab(): Promise<ArchiveLab> {
  const volumes = await openVolumeLab()
  const { rootPath } = await volumes.startBox('box_main')
  const volumePath = await volumes.makeVolume('vol_main')
  const mount = { source: volumePath, path: '/srv/data', readOnly: false }
  await volumes.lab.runtime.attach('box_main', mount)
  const readBox = () => JSON.parse(readFileSync(`${volumes.lab.home}/run/boxes/box_main.json`, 'utf8'))
  const files = createHostFiles({ find: (boxId) => (boxId === 'box_main' ? readBox() : null) })
  const location = { rootPath, mounts: [mount] }
  const scratch = mkdtempSync(`${tmpdir()}/boxyard-archive-`)
  let count = 0
  return {
    volumes,
    files,
    rootPath,
    volumePath,
    places: { runs: { ...location, boxId: 'box_main' }, stopped: { ...location, boxId: 'box_other' } },
    newDirectory: () => {
      const path = `${scratch}/${count++}`
      mkdirSync(path)
      return path
    },
    newInBox: () => {
      const path = `/root/${count++}`
      mkdirSync(`${rootPath}${path}`)
      return { path, onHost: `${rootPath}${path}` }
    },
    close: async () => {
      rmSync(scratch, { recursive: true, force: true })
      await files.close()
      await volumes.close()
      await untilGone(volumes.lab)
    },
  }
}

export async function packOf({ files, places }: ArchiveLab, view: View, path: string): Promise<Buffer> {
  return buffer(await files.pack(places[view], Buffer.from(path)))
}

/** Unpacks an archive that arrives in chunks of `pieceBytes`. */
export function unpackTo(
  { files, places }: ArchiveLab,
  view: View,
  { path, archive, pieceBytes = 64 * 1024 }: { path: string; archive: Uint8Array; pieceBytes?: number },
): Promise<UnpackReport> {
  return files.unpack(places[view], Buffer.from(path), pieces(archive, pieceBytes))
}

/** Returns the refused paths in a report with their reasons. */
export function refusedIn({ refused }: UnpackReport): Record<string, string> {
  return Object.fromEntries(refused.map(({ path, reason }) => [Buffer.from(path).toString('latin1'), reason]))
}

/**
 * Lists everything below a directory with path, kind, mode, owner, mtime in seconds and target. Adds size and links except for directories.
 */
export function listEntries(path: string): string[] {
  const facts = '%P\\t%y %m %U:%G %T@ %l'
  const format = ['(', '-type', 'd', '-printf', `${facts}\\0`, ')', '-o', '-printf', `${facts} %s %n\\0`]
  const found = execFileSync('find', ['.', '-mindepth', '1', ...format], { cwd: path, maxBuffer: 1e9 })
  return found.toString('latin1').split('\0').sort()
}

/** Runs GNU tar in a directory with `input` and returns its output. Throws if it fails or prints to stderr. */
export async function tar(cwd: string, args: readonly string[], input: Uint8Array = Buffer.alloc(0)): Promise<Buffer> {
  const child = spawn('tar', args, { cwd, stdio: ['pipe', 'pipe', 'pipe'], env: { ...process.env, LC_ALL: 'C' } })
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  const code = new Promise<number | null>((resolve) => child.once('close', resolve))
  const [out, complaints, exitCode] = await Promise.all([buffer(child.stdout), buffer(child.stderr), code])
  if (exitCode !== 0 || complaints.length > 0) throw new Error(`tar: ${exitCode} ${String(complaints)}`)
  return out
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) yield bytes.subarray(start, start + size)
}
