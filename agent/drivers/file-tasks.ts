import { packTask } from './file-archive-pack.ts'
import { pruneTask } from './file-archive-prune.ts'
import { unpackTask } from './file-archive-unpack.ts'
import { makeDirectoryTask, moveTask } from './file-changes.ts'
import { listTask } from './file-listing.ts'
import { openTask, statTask } from './file-reading.ts'
import { removeTask } from './file-removal.ts'
import { restoreTask } from './file-restoring.ts'
import { writeTask } from './file-writing.ts'

/** What the threads of `createHostFiles` do, by name. */
export const tasks = {
  stat: statTask,
  list: listTask,
  open: openTask,
  write: writeTask,
  remove: removeTask,
  move: moveTask,
  makeDirectory: makeDirectoryTask,
  restore: restoreTask,
  pack: packTask,
  prune: pruneTask,
  unpack: unpackTask,
}

export type FileTasks = typeof tasks
