import { packTask } from './archive/pack.ts'
import { pruneTask } from './archive/prune.ts'
import { unpackTask } from './archive/unpack.ts'
import { makeDirectoryTask, moveTask } from './changes.ts'
import { listTask } from './listing.ts'
import { openTask, statTask } from './reading.ts'
import { removeTask } from './removal.ts'
import { restoreTask } from './restoring.ts'
import { writeTask } from './writing.ts'

/** Tasks of the threads of `createHostFiles`, by name. */
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
