import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, statfsSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A sparse pool image on a disk that is smaller than the image can become. */
export interface SmallDisk {
  image: string
  /** Leaves `megabytes` free on the disk. With 0, all writes to unallocated blocks of the image fail. */
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
      // The kernel rejects a size below the disk's current use, which can have grown since the measurement.
      for (let tries = 0; !resize(); tries++) if (tries === 50) throw new Error(`${directory} cannot be made smaller`)
    },
    link: (dataDir) => symlinkSync(image, join(dataDir, 'pool.img')),
    close,
  }
}
