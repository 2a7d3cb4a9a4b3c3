import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { type ObjectStore, startObjectStore } from '../helpers/backups/object-store.ts'
import { openWebBucket, type WebBucket } from '../helpers/lambda/web-bucket.ts'

const directory = mkdtempSync(join(tmpdir(), 'boxyard-console-bucket-'))
let store: ObjectStore
let bucket: WebBucket

beforeAll(async () => {
  store = await startObjectStore()
  bucket = openWebBucket(store)
})

afterAll(async () => {
  bucket?.close()
  await store?.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Builds a page and one asset, with compressed forms of both. */
function build(page: string, asset: string): string {
  const made = mkdtempSync(join(directory, 'build-'))
  mkdirSync(join(made, 'assets'))
  for (const end of ['', '.br', '.gz']) {
    writeFileSync(join(made, `index.html${end}`), page)
    writeFileSync(join(made, 'assets', `${asset}.js${end}`), asset)
  }
  return made
}

async function read(path: string): Promise<unknown> {
  const { type, cacheControl, bytes = '' } = (await bucket.read(path)) ?? {}
  return [type, cacheControl, Buffer.from(bytes).toString()]
}

test('holds the files of the last build alone, with their media types, and is sent what it lacks', async () => {
  expect(await bucket.fill(build('<!doctype html>1', 'a-1'))).toBe(2)
  expect(await bucket.paths()).toEqual(['assets/a-1.js', 'index.html'])
  expect(await read('index.html')).toEqual([HTML, 'no-cache', '<!doctype html>1'])
  const lasting = 'public, max-age=31536000, immutable'
  expect(await read('assets/a-1.js')).toEqual(['text/javascript; charset=utf-8', lasting, 'a-1'])
  expect(await bucket.fill(build('<!doctype html>1', 'a-1'))).toBe(0)
  expect(await bucket.fill(build('<!doctype html>2', 'a-2'))).toBe(2)
  expect(await bucket.paths()).toEqual(['assets/a-2.js', 'index.html'])
  expect(await read('index.html')).toEqual([HTML, 'no-cache', '<!doctype html>2'])
})

test('is sent again what another program has changed', async () => {
  await bucket.write('index.html', 'other')
  expect(await bucket.fill(build('<!doctype html>2', 'a-2'))).toBe(1)
  expect(await read('index.html')).toEqual([HTML, 'no-cache', '<!doctype html>2'])
})

test('loses nothing for a directory without a page', async () => {
  const none = mkdtempSync(join(directory, 'none-'))
  await expect(bucket.fill(none)).rejects.toThrow(`${none}: expected a built console, with index.html.`)
  expect(await bucket.paths()).toEqual(['assets/a-2.js', 'index.html'])
})

test('is emptied, also when it is empty, or gone', async () => {
  const gone = openWebBucket({ place: { ...store.place, bucket: 'gone' } })
  await gone.empty()
  gone.close()
  await bucket.empty()
  expect(await bucket.paths()).toEqual([])
  await bucket.empty()
})

const HTML = 'text/html; charset=utf-8'
