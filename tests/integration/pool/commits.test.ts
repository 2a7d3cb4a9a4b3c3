import { expect, test } from '@jest/globals'
import { openPoolLab } from '../../helpers/pool/lab.ts'

test("no change waits for the kernel's own commit, which comes every 30 s", async () => {
  const lab = await openPoolLab(256 * 1024 ** 2)
  try {
    let longestMs = 0
    for (let round = 0; round < 300; round++) {
      const startedAt = performance.now()
      await lab.pool.create('it', 'demo')
      await lab.pool.setQuota('it', 1024 ** 2)
      await lab.pool.destroy('it')
      longestMs = Math.max(longestMs, performance.now() - startedAt)
    }
    expect(longestMs).toBeLessThan(15_000)
  } finally {
    await lab.close()
  }
})
