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
  /** Uses the administrator's token. Requests fail while the machine is off. */
  client: Client
  /** Returns the machine. Throws before it has started. */
  machine(): Machine
}

/** Starts a machine with a serving Boxyard before the calling file's tests, and ends it after them. */
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

/** Writes a machine's journal and console to `.build/vm/<test file>.log`, to debug a failure. */
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

/** Limit for a test and for a hook. On a busy host, all work can take ten times as long. The first start also builds the image. */
export const TEST_LIMIT_MS = 1_800_000
