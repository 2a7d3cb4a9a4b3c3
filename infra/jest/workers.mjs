import { join } from 'node:path'

// Loaded before jest (infra/test.ts). Gives each worker a mount namespace of its own: a process that a test starts copies the
// mounts of its namespace, and would keep those of a test in another worker, and their devices, busy until it ends. Mounts of the
// cluster that all workers share reach them; theirs, such as the cover of /sys/fs/cgroup/unified, do not reach its runc.
if (process.env.JEST_WORKER_ID === undefined) process.execPath = join(import.meta.dirname, 'worker.sh')
