import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A sparse pool image on a disk with less room than the image may take. */
export interface SmallDisk {
  image: string
  /** Leaves `megabytes` free on the disk; with 0 no unallocated block of the image can be written. */
  leave(megabytes: number): void
  /** Links the image as the pool of a data directory. */
  link(dataDir: string): void
  close(): void
}

export function openSmallDisk(size: { imageMegabytes: number; diskMegabytes: number }): SmallDisk {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-disk-'))
  const close = (): void => {
    execFileSync('umount', [directory])
    rmSync(directory, { recursive: true })
  }
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size.diskMegabytes}m`, 'none', directory])
  const image = join(directory, 'pool.img')
  try {
    writeFileSync(image, '')
    truncateSync(image, size.imageMegabytes * 1024 ** 2)
    execFileSync('mkfs.btrfs', ['-q', '-K', '-m', 'single', '-d', 'single', image], { stdio: 'ignore' })
  } catch (error) {
    close()
    throw error
  }
  return {
    image,
    leave: (megabytes) => {
      const resize = (): boolean => {
        const { blocks, bfree, bsize } = statfsSync(directory)
        const bytes = (blocks - bfree) * bsize + megabytes * 1024 ** 2
        return spawnSync('mount', ['-o', `remount,size=${bytes}`, directory]).status === 0
      }
      // A disk that has taken more meanwhile is refused the size.
      for (let tries = 0; !resize(); tries++) if (tries === 50) throw new Error(`${directory} cannot be made smaller`)
    },
    link: (dataDir) => symlinkSync(image, join(dataDir, 'pool.img')),
    close,
  }
}
