import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach } from '@jest/globals'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { Store } from '../../../agent/ports/store/store.ts'

/** Opens a separate store for each test, in a temporary directory. Removes the directory after the test. */
export function useTemporaryStore(take: (store: Store, directory: string) => void): void {
  let directory: string
  let store: Store

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'boxyard-store-'))
    store = openSqliteStore(join(directory, 'boxyard.db'))
    take(store, directory)
  })

  afterEach(async () => {
    await store.close()
    rmSync(directory, { recursive: true, force: true })
  })
}
