import { relative, sep } from 'node:path'
import { watch } from 'chokidar'
import type { Exclusion } from './local-tree.ts'

/** Reports changes below a directory. */
export interface Changes {
  /** Resolves once something has changed since the last call, plus a moment for further changes. */
  next(): Promise<void>
  close(): Promise<void>
}

/** Watches a directory and everything below it. Resolves once it can no longer miss a change. */
export async function watchChanges(directory: string, isExcluded: Exclusion): Promise<Changes> {
  let hasChanged = false
  let wake: (() => void) | null = null
  const watcher = watch(directory, {
    ignoreInitial: true,
    followSymlinks: false,
    ignored: (path, stats) => {
      const below = relative(directory, path).replaceAll(sep, '/')
      return below !== '' && stats !== undefined && isExcluded(below, stats.isDirectory())
    },
  })
  let timer: NodeJS.Timeout | undefined
  watcher.on('all', () => {
    // Later changes do not restart the timer, so that a constantly written file does not postpone it.
    timer ??= setTimeout(() => {
      timer = undefined
      hasChanged = true
      wake?.()
    }, BATCH_MS)
  })
  await new Promise<void>((resolve, reject) => {
    watcher.once('ready', () => resolve())
    watcher.on('error', reject)
  })
  return {
    next: async () => {
      while (!hasChanged) await new Promise<void>((resolve) => (wake = resolve))
      hasChanged = false
    },
    close: async () => {
      clearTimeout(timer)
      await watcher.close()
    },
  }
}

/** Changes within this time are one batch. */
const BATCH_MS = 50
