import { join } from 'node:path'

// Loaded before jest (infra/test.ts): gives each of its workers a mount namespace of its own. A process that one test starts
// copies the mounts of its namespace, and would keep those of a test in another worker, with their devices, for as long as it runs.
if (process.env.JEST_WORKER_ID === undefined) process.execPath = join(import.meta.dirname, 'jest-worker.sh')
