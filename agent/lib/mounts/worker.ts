import { parentPort, workerData } from 'node:worker_threads'
import { bindLibc, SyscallError } from '../syscalls/libc.ts'
import { keepCapabilities, setUmask, unshareRoot } from '../syscalls/threads.ts'
import type { WorkerAnswer } from './mounter.ts'
import { actInNamespace, type NamespaceTask } from './namespace-mounts.ts'

// The worker of `createMounter`. Reports that it is ready, then runs each task synchronously and answers.
const { homeFd } = workerData as { homeFd: number }
bindLibc()
unshareRoot()
setUmask(0o022)
keepCapabilities()
parentPort?.on('message', (task: NamespaceTask) => parentPort?.postMessage(answer(task)))
parentPort?.postMessage({ outcome: { end: 'nothing' } } satisfies WorkerAnswer)

function answer(task: NamespaceTask): WorkerAnswer {
  try {
    return { outcome: actInNamespace(homeFd, task, () => process.exit(1)) }
  } catch (error) {
    if (error instanceof SyscallError) return { failure: { syscall: error.syscall, errno: error.errno } }
    throw error
  }
}
