import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { openKubeCredentials } from '../../../agent/lib/kube/credentials.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

let directory: string
let file: string
const rejections: unknown[] = []
const note = (reason: unknown): void => void rejections.push(reason)

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-kubeconfig-'))
  file = join(directory, 'config')
  rejections.length = 0
  process.on('unhandledRejection', note)
})

afterEach(() => {
  process.off('unhandledRejection', note)
  rmSync(directory, { recursive: true })
})

function writeConfig(port: number): void {
  const name = 'it'
  const config = {
    clusters: [{ name, cluster: { server: `https://127.0.0.1:${port}` } }],
    users: [{ name, user: { token: 'secret' } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  }
  writeFileSync(file, JSON.stringify(config))
}

test('a kubeconfig that names another server gets connections of its own', async () => {
  writeConfig(1)
  const credentials = await openKubeCredentials(file, silentLogger)
  const first = await credentials.current()
  expect(await credentials.renew(first)).toBe(false)
  writeFileSync(file, '')
  writeConfig(22)
  expect(await credentials.renew(first)).toBe(true)
  const second = await credentials.current()
  expect([first.server, second.server]).toEqual(['https://127.0.0.1:1', 'https://127.0.0.1:22'])
  expect([first.dispatcher.closed, second.dispatcher.closed]).toEqual([true, false])
  credentials.close()
  expect(second.dispatcher.destroyed).toBe(true)
  await nextTurn()
  expect(rejections).toEqual([])
})

test('a kubeconfig that is read after the end opens no connection and rejects nothing', async () => {
  writeConfig(1)
  const credentials = await openKubeCredentials(file, silentLogger)
  const first = await credentials.current()
  credentials.close()
  writeConfig(22)
  expect(await credentials.renew(first)).toBe(true)
  const late = await credentials.current()
  expect([late.server, late.dispatcher.destroyed]).toEqual(['https://127.0.0.1:22', true])
  await nextTurn()
  expect(rejections).toEqual([])
})
