import fs from 'node:fs/promises'
import path from 'node:path'

/** Makes `directory` and its missing parents below `root`, with exactly the permission bits `mode`. */
export async function ensureDirectory(root: string, directory: string, mode = 0o755): Promise<void> {
  const target = path.join(root, directory)
  await fs.mkdir(target, { recursive: true })
  await fs.chmod(target, mode)
}

/** Writes a file below `root` in place of anything there, links included, with exactly the permission bits `mode`. */
export async function replaceFile(root: string, file: { path: string; text: string; mode?: number }): Promise<void> {
  const target = path.join(root, file.path)
  await fs.rm(target, { recursive: true, force: true })
  await fs.mkdir(path.dirname(target), { recursive: true })
  await fs.writeFile(target, file.text, { flag: 'wx' })
  await fs.chmod(target, file.mode ?? 0o644)
}

/** Empties a directory below `root`, or makes it. */
export async function emptyDirectory(root: string, directory: string, mode = 0o755): Promise<void> {
  await fs.rm(path.join(root, directory), { recursive: true, force: true })
  await ensureDirectory(root, directory, mode)
}

/** Removes every file below a directory of `root`. The directories themselves stay, with their owners. */
export async function removeFilesBelow(root: string, directory: string): Promise<void> {
  const entries = await fs.readdir(path.join(root, directory), { recursive: true, withFileTypes: true })
  for (const entry of entries) {
    if (!entry.isDirectory()) await fs.rm(path.join(entry.parentPath, entry.name), { force: true })
  }
}

/** Makes the mount points of the runtime: empty directories for kernel filesystems, empty files for a box's own identity. */
export async function makeMountPoints(root: string): Promise<void> {
  for (const directory of ['proc', 'sys', 'dev', 'run']) await emptyDirectory(root, directory)
  for (const directory of ['tmp', 'var/tmp']) await emptyDirectory(root, directory, 0o1777)
  for (const file of ['etc/hosts', 'etc/resolv.conf', 'etc/hostname', 'etc/machine-id']) {
    await replaceFile(root, { path: file, text: '' })
  }
}
