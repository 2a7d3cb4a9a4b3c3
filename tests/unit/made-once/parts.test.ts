import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import { type DirectoryPart, makeInParts } from '../../../infra/made-once/parts.ts'
import { eventually } from '../../helpers/eventually.ts'

let root: string
let directory: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'boxyard-parts-'))
  directory = join(root, 'made')
})
afterEach(() => rmSync(root, { recursive: true }))

function writing(name: string): DirectoryPart {
  return { name, make: async (target) => writeFileSync(join(target, name), 'new') }
}

/** Runs a build with two parts in its own process, and signals it during the second part. Returns how it ended. */
async function interrupt(signal: NodeJS.Signals, ...args: string[]): Promise<{ end: unknown[]; errors: string }> {
  const program = [join(ROOT, 'tests/fixtures/interrupted-build.ts'), directory, ...args]
  const child = spawn(process.execPath, program, { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  const closed = once(child, 'close')
  await eventually(() => existsSync(`${directory}.pids`) || child.exitCode !== null)
  child.kill(signal)
  return { end: await closed, errors }
}

/** Waits until both processes of the second part have exited. */
async function endOfPart(): Promise<void> {
  const pids = readFileSync(`${directory}.pids`, 'utf8').trim().split(' ')
  expect(pids).toHaveLength(2)
  await eventually(() => pids.every((pid) => !existsSync(`/proc/${pid}`)))
}

test.each<[NodeJS.Signals]>([['SIGKILL'], ['SIGINT'], ['SIGTERM']])(
  'what a build runs ends with the process that started it, by %s',
  async (signal) => {
    expect((await interrupt(signal)).end).toEqual([null, signal])
    await endOfPart()
  },
)

test('a build ends on a signal that its process takes itself', async () => {
  const { end, errors } = await interrupt('SIGINT', 'listens')
  expect(end).toEqual([1, null])
  expect(errors).toContain('Making the second part was interrupted (SIGINT).')
  await endOfPart()
})

test('an interrupted build resumes and leaves its finished part as it is', async () => {
  await interrupt('SIGKILL')
  expect(existsSync(directory)).toBe(false)
  const first = join(`${directory}.unfinished`, 'made/first')
  const { ino } = statSync(first)
  await makeInParts(directory, [writing('first'), writing('second')])
  expect(statSync(join(directory, 'first')).ino).toBe(ino)
  expect(readFileSync(join(directory, 'first'), 'utf8')).toBe('of the interrupted build')
  expect(readFileSync(join(directory, 'second'), 'utf8')).toBe('new')
  expect(readdirSync(root).toSorted()).toEqual(['made', 'made.pids'])
})

test('a part that fails is made again, and the parts before it are not', async () => {
  const broken = { name: 'second', make: () => Promise.reject(new Error('no network')) }
  await expect(makeInParts(directory, [writing('first'), broken])).rejects.toThrow('no network')
  const unreachable = { name: 'first', make: () => Promise.reject(new Error('made again')) }
  await makeInParts(directory, [unreachable, writing('second')])
  expect(readdirSync(directory).toSorted()).toEqual(['first', 'second'])
})

test('what builds of other versions left unfinished is removed', async () => {
  mkdirSync(join(root, 'older.unfinished/made'), { recursive: true })
  mkdirSync(join(root, 'finished'))
  await makeInParts(directory, [writing('first')])
  expect(readdirSync(root).toSorted()).toEqual(['finished', 'made'])
})
