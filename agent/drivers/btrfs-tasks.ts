import { usageTask } from './btrfs-usage-task.ts'
import { changesTask } from './tree-changes-task.ts'

/** What the thread of a pool does, by name. */
export const tasks = { changes: changesTask, usage: usageTask }

export type BtrfsTasks = typeof tasks
