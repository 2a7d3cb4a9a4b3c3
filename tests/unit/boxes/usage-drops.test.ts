import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, test } from '@jest/globals'
import { openUsageHistory } from '../../../agent/drivers/store/usage-history.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const MINUTE = 60_000

test('what is old is dropped some at a time, and no more than that', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-history-'))
  const path = join(directory, 'metrics.db')
  const history = openUsageHistory(path, silentLogger)
  await history.latest(MINUTE)
  const file = new DatabaseSync(path)
  file.exec(`INSERT INTO points WITH RECURSIVE b (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM b WHERE n < 1500),
    t (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM t WHERE k < 4) SELECT 60, k * 60, n, 1, 1, 1, 1, 1, 1 FROM t, b`)
  const count = () => Number(file.prepare('SELECT count(*) AS n FROM points').get()?.['n'])
  const query = { stepMs: MINUTE, after: 2 * MINUTE, until: 3 * MINUTE }
  const left: number[] = []
  while (await history.prune(query)) left.push(count())
  expect([...left, count()]).toEqual([4000, 1500])
  expect(file.prepare('SELECT DISTINCT at FROM points').all()).toEqual([{ at: 180 }])
  file.close()
  await history.close()
  rmSync(directory, { recursive: true })
})
