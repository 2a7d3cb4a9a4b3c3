import { setTimeout as sleep } from 'node:timers/promises'
import { lockInstance } from '../instance-lock.ts'

/** Does `work` while no other process of this host does work of the same `subject`, however the others end. */
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
