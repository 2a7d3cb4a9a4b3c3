import { changesTask } from './tree-changes-task.ts'
import { usageTask } from './usage-task.ts'

/** What the thread of a pool does, by name. */
export const tasks = { changes: changesTask, usage: usageTask }

export type BtrfsTasks = typeof tasks
