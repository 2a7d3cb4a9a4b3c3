import { join } from 'node:path'

// Loaded before jest (infra/test.ts). Gives each worker its own mount namespace. A process that a test starts copies the mounts of its
// namespace. In a shared namespace it would keep mounts of a test in another worker, and their devices, busy until it ends. Mounts of the
// cluster that all workers share reach them. Their own, such as the cover of /sys/fs/cgroup/unified, do not reach its runc.
if (process.env.JEST_WORKER_ID === undefined) process.execPath = join(import.meta.dirname, 'worker.sh')
