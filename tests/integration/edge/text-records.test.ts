import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTextRecords } from '../../../agent/drivers/edge/text-records.ts'
import { type NameServer, startNameServer } from '../../helpers/network/name-server.ts'

let names: NameServer

beforeAll(async () => {
  names = await startNameServer()
})

afterAll(() => names.close())

test('the texts of a name are read from the resolver that is given', async () => {
  const records = createTextRecords([`127.0.0.1:${names.port}`])
  names.texts.set('_boxyard-challenge.shop.example.org', ['v=spf1 -all', 'boxyard=abc'])
  expect(await records.of('_boxyard-challenge.shop.example.org')).toEqual(['v=spf1 -all', 'boxyard=abc'])
  expect(await records.of('_boxyard-challenge.other.example.org')).toEqual([])
})

test('a resolver that does not answer is an error that says so, within its time', async () => {
  const silent = await startNameServer()
  await silent.close()
  const records = createTextRecords([`127.0.0.1:${silent.port}`])
  await expect(records.of('_boxyard-challenge.shop.example.org')).rejects.toMatchObject({
    code: 'runtime_unavailable',
    message: expect.stringContaining('_boxyard-challenge.shop.example.org'),
  })
})
