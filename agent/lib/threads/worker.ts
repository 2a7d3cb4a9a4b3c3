import { parentPort, workerData } from 'node:worker_threads'
import { bindLibc } from '../syscalls/libc.ts'
import { keepCapabilities, setUmask } from '../syscalls/threads.ts'
import { enterEmptyRoot } from './empty-root.ts'
import { serveTasks } from './scheduler.ts'
import type { TaskTable } from './steps.ts'

// The thread of `createFileThreads`: it says that it is ready, and then does the tasks of the module it was given.
const { tasks } = (await import((workerData as { module: string }).module)) as { tasks: TaskTable }
bindLibc()
enterEmptyRoot()
setUmask(0)
keepCapabilities()
if (parentPort !== null) serveTasks(parentPort, tasks)
parentPort?.postMessage({ act: 'alive' })
