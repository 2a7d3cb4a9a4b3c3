import { type ClientRequest, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { ServiceError } from '../../../shared/errors.ts'
import { type DataLab, startDataLab } from '../../helpers/front/data-lab.ts'

let at: DataLab
let now: number

beforeEach(() => {
  now = Date.now()
})

afterEach(async () => {
  await at.close()
})

const codeOf = async (answer: Response): Promise<string> => ((await answer.json()) as { code: string }).code

describe('a ticket stays good', () => {
  test('if its token is over its rate', async () => {
    at = await startDataLab({ now: () => now, burst: 1 })
    expect((await fetch(at.fileUrl('readFile'))).status).toBe(200)
    const url = at.fileUrl('readFile')
    const refused = await fetch(url)
    expect([refused.status, await codeOf(refused)]).toEqual([429, 'rate_limited'])
    now += 1_000
    expect(await (await fetch(url)).text()).toBe('here')
    now += 1_000
    expect((await fetch(url)).status).toBe(401)
  })

  test('if the agent is being stopped', async () => {
    at = await startDataLab({ now: () => now })
    const url = at.fileUrl('writeFile')
    const write = () =>
      fetch(url, { method: 'PUT', body: 'x', headers: { 'content-type': 'application/octet-stream' } })
    at.isDraining = true
    const refused = await write()
    expect([refused.status, await codeOf(refused)]).toEqual([503, 'draining'])
    at.isDraining = false
    expect((await write()).status).toBe(200)
    expect((await write()).status).toBe(401)
  })

  test('if there was no room, but not after any other fault', async () => {
    at = await startDataLab({ now: () => now })
    const usual = at.respond
    const url = at.fileUrl('readFile')
    at.respond = () => Promise.reject(new ServiceError('rate_limited', 'Too many.'))
    expect((await fetch(url)).status).toBe(429)
    at.respond = usual
    expect((await fetch(url)).status).toBe(200)
    const other = at.fileUrl('readFile')
    at.respond = () => Promise.reject(new ServiceError('file_not_found', 'Nothing.'))
    expect((await fetch(other)).status).toBe(404)
    at.respond = usual
    expect((await fetch(other)).status).toBe(401)
  })
})

describe('the memory of large bodies', () => {
  const PATH = '/v1/projects/demo/boxes/web/files/write?path=/f'
  const MIB = 1024 ** 2
  /** Announces a body without sending it. Returns the code of the refusal, or `null` if the server waits for the body. */
  const claim = (path: string, headers: Record<string, string>): Promise<string | null> =>
    new Promise((resolve, reject) => {
      const asked = request(`${at.url}${path}`, { method: 'PUT', headers: { ...JSON_BODY, ...headers } })
      asked.on('error', reject).on('response', (answer) => {
        let text = ''
        answer.on('data', (piece) => (text += piece)).on('end', () => resolve(JSON.parse(text).code as string))
      })
      asked.on('continue', () => resolve(null))
      asked.flushHeaders()
      open.push(asked)
    })
  const JSON_BODY = { 'content-type': 'application/json', 'content-length': String(MIB), expect: '100-continue' }
  const open: ClientRequest[] = []

  afterEach(() => {
    for (const each of open.splice(0)) each.on('error', () => undefined).destroy()
  })

  test('is not used for requests without a valid token', async () => {
    at = await startDataLab({ now: () => now, bodyBytes: 2 * MIB })
    expect(await claim(PATH, {})).toBe('token_missing')
    expect(await claim(PATH, { authorization: 'Bearer x' })).toBe('token_invalid')
    expect(await claim(`${PATH}&ticket=abc`, {})).toBe('token_invalid')
    expect(await claim(PATH, { authorization: `Bearer ${at.token}` })).toBeNull()
  })

  test('is not used up by one project', async () => {
    at = await startDataLab({ now: () => now, bodyBytes: 4 * MIB })
    const bearer = { authorization: `Bearer ${at.token}` }
    expect([await claim(PATH, bearer), await claim(PATH, bearer)]).toEqual([null, null])
    expect(await claim(PATH, bearer)).toBe('rate_limited')
    expect(await claim(PATH.replace('/web/', '/other/'), bearer)).toBe('rate_limited')
    expect(await claim(PATH.replace('/demo/', '/other/'), bearer)).toBeNull()
  })
})

test('exactly one of many clients with one ticket is admitted', async () => {
  at = await startDataLab({ now: () => now })
  let entered = 0
  at.respond = async () => {
    entered++
    await sleep(20)
    return { body: null, bytes: Buffer.from('here') }
  }
  const url = at.fileUrl('readFile')
  const answers = await Promise.all(Array.from({ length: 10 }, () => fetch(url)))
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(401)])
  expect(entered).toBe(1)
})
