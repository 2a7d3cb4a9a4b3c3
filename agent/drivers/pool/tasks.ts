import { changesTask } from './tree-changes-task.ts'
import { usageTask } from './usage-task.ts'

/** Tasks of the thread of a pool, by name. */
export const tasks = { changes: changesTask, usage: usageTask }

export type BtrfsTasks = typeof tasks
