import { randomBytes } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { S3Location } from '../../../agent/drivers/backups/s3-client.ts'
import { killGroup, spawnChild } from '../../../agent/lib/run.ts'
import { freePort } from '../service.ts'

/** An S3-compatible server on loopback with one bucket. It verifies signatures. */
export interface ObjectStore {
  port: number
  place: S3Location
  /** Directory that holds the bucket's objects as files. */
  bucketPath: string
  /** Path of a key file in the agent's format. */
  keyFile: string
  close(): Promise<void>
}

/** Starts the server at TEST_OBJECT_STORE with an empty data directory. */
export async function startObjectStore(): Promise<ObjectStore> {
  const program = process.env['TEST_OBJECT_STORE']
  if (program === undefined) throw new Error('There is no server that speaks S3: run `npm test -- s3`.')
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-object-store-'))
  const bucketPath = join(directory, 'objects', 'backups')
  mkdirSync(bucketPath, { recursive: true })
  const keys = { accessKeyId: 'test-key', secretAccessKey: randomBytes(16).toString('hex') }
  const keyFile = join(directory, 'keys.json')
  const keyFields = { access_key_id: keys.accessKeyId, secret_access_key: keys.secretAccessKey }
  writeFileSync(keyFile, JSON.stringify(keyFields), { mode: 0o600 })
  const port = await freePort()
  const env = {
    ROOT_ACCESS_KEY: keys.accessKeyId,
    ROOT_SECRET_KEY: keys.secretAccessKey,
    HOME: directory,
    PATH: process.env['PATH'] ?? '',
  }
  const args = ['--quiet', '--keep-alive', '--port', `127.0.0.1:${port}`, '--region', 'eu-test-1', 'posix']
  const child = spawnChild(program, [...args, join(directory, 'objects')], { env, cwd: directory })
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (text: Buffer) => output.push(text.toString()))
  const ended = new Promise((resolve) => child.once('close', resolve))
  const endpoint = `http://127.0.0.1:${port}`
  for (let tries = 0; !(await answers(endpoint)); tries++) {
    if (tries > 200 || child.exitCode !== null) throw new Error(`The S3 server did not start:\n${output.join('')}`)
    await pause(50)
  }
  return {
    port,
    place: {
      endpoint,
      bucket: 'backups',
      region: 'eu-test-1',
      prefix: 'deep/er',
      keys,
      attempts: 4,
      timeoutMs: 10_000,
    },
    bucketPath,
    keyFile,
    close: async () => {
      killGroup(child, 'SIGKILL')
      await ended
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function answers(endpoint: string): Promise<boolean> {
  return fetch(endpoint).then(
    () => true,
    () => false,
  )
}
