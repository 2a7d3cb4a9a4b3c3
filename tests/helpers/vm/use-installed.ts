import { mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { afterAll, beforeAll, expect, jest } from '@jest/globals'
import { ROOT } from '../../../infra/commands.ts'
import type { Client } from '../front/client.ts'
import { connectClient } from './boxyard.ts'
import { startInstalled } from './installed.ts'
import type { Machine } from './machine.ts'

/** The machine of a test file. */
export interface OwnMachine {
  /** Uses the token of the administrator; requests fail while the machine is off. */
  client: Client
  /** Returns the machine; throws before it has started. */
  machine(): Machine
}

/** Starts a machine on which Boxyard serves before the tests of the calling file, and ends it after them. */
export function useInstalled(): OwnMachine {
  jest.setTimeout(TEST_LIMIT_MS)
  let started: Machine | null = null
  let client: Client | null = null
  const get = <T>(part: T | null): T => {
    if (part === null) throw new Error('The machine has not started.')
    return part
  }
  beforeAll(async () => {
    started = await startInstalled()
    client = await connectClient(started)
  })
  afterAll(async () => {
    await keepLogs(started)
    await started?.close()
  })
  return {
    machine: () => get(started),
    client: {
      call: (...args) => get(client).call(...args),
      get: (...args) => get(client).get(...args),
      post: (...args) => get(client).post(...args),
      put: (...args) => get(client).put(...args),
      delete: (...args) => get(client).delete(...args),
      shell: (...args) => get(client).shell(...args),
      until: (...args) => get(client).until(...args),
    },
  }
}

/** Writes the journal and the console of a machine to `.build/vm/<test file>.log`, to be read after a failure. */
export async function keepLogs(machine: Machine | null): Promise<void> {
  if (machine === null) return
  const directory = join(ROOT, '.build/vm')
  const name = basename(expect.getState().testPath ?? 'unknown', '.test.ts')
  const options = { timeoutMs: 60_000 }
  const journal = await machine.try('journalctl --no-pager -n 1000', options).catch(String)
  mkdirSync(directory, { recursive: true })
  const text = typeof journal === 'string' ? journal : journal.stdout
  writeFileSync(join(directory, `${name}.log`), `${text}\nConsole:\n${machine.console()}\n`)
}

/** Longest time of a test and of a hook: beside other work all may take ten times as long, and the first start makes the image, too. */
export const TEST_LIMIT_MS = 1_800_000
