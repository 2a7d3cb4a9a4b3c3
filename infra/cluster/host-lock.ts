import { setTimeout as sleep } from 'node:timers/promises'
import { lockInstance } from '../instance-lock.ts'

/** Runs `work` while no other process of this host runs work of the same `subject`; the lock ends with its process, however that ends. */
export async function withLock<T>(subject: string, work: () => Promise<T>): Promise<T> {
  for (;;) {
    const lock = await lockInstance(`boxyard-cluster:${subject}`)
    if (!('release' in lock)) {
      await sleep(100)
      continue
    }
    try {
      return await work()
    } finally {
      lock.release()
    }
  }
}
