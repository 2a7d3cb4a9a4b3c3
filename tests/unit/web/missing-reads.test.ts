import { afterEach, expect, test } from '@jest/globals'
import { QueryClient, QueryObserver } from '../../../web/node_modules/@tanstack/query-core/build/modern/index.js'
import { missingRead, readsBehind } from '../../../web/src/api/missing-reads.ts'

const closers: (() => void)[] = []

afterEach(() => {
  for (const close of closers.splice(0)) close()
})

const queries = new QueryClient({ defaultOptions: { queries: { retry: false } } })
const cache = queries.getQueryCache()

/** Reads from an unreachable service, and waits until the read has failed. */
async function read(name: string): Promise<void> {
  const queryFn = () => Promise.reject(new Error('away'))
  const observer = new QueryObserver(queries, { queryKey: [name], queryFn })
  await new Promise<void>((resolve) => {
    closers.push(observer.subscribe(({ isError }) => isError && resolve()))
    if (observer.getCurrentResult().isError) resolve()
  })
}

test('a form misses what it could not read, also where the page behind it reads that too', async () => {
  await read('boxes')
  await read('volumes')
  const behind = readsBehind(cache)
  expect(missingRead(cache, behind)).toBeNull()
  await read('boxes')
  expect(missingRead(cache, behind)?.queryKey).toEqual(['boxes'])
})

test('a form misses what nobody else reads', async () => {
  const behind = readsBehind(cache)
  await read('bases')
  expect(missingRead(cache, behind)?.queryKey).toEqual(['bases'])
})
