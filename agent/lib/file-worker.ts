import { parentPort, workerData } from 'node:worker_threads'
import { enterEmptyRoot } from './file-root.ts'
import { serveTasks } from './file-scheduler.ts'
import type { TaskTable } from './file-steps.ts'
import { bindLibc } from './syscalls-libc.ts'
import { keepCapabilities, setUmask } from './syscalls-threads.ts'

// The thread of `createFileThreads`: it says that it is ready, and then does the tasks of the module it was given.
const { tasks } = (await import((workerData as { module: string }).module)) as { tasks: TaskTable }
bindLibc()
enterEmptyRoot()
setUmask(0)
keepCapabilities()
if (parentPort !== null) serveTasks(parentPort, tasks)
parentPort?.postMessage({ act: 'alive' })
