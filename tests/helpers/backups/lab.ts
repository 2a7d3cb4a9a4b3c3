import { type Dirent, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect } from '@jest/globals'
import { eventually, untilSucceeds } from '../eventually.ts'
import type { Answer, Client } from '../front/client.ts'
import type { TestService } from '../service.ts'

/** A box `keeper` in project `lab` with data volumes, and operations for backup tests. */
export interface BackupLab {
  /** Creates the volume `name`, attaches it at `/<name>` and writes `megabytes` of random data. */
  fill(name: string, megabytes: number): Promise<void>
  shell(line: string): Promise<string>
  /** Creates a backup, waits until it finishes, and returns its id. */
  back(name: string): Promise<string>
  /** Restores a backup as a new volume. Returns its digest, or the code and detail of the error. */
  restore(id: string, as: string): Promise<{ digest: string } | { code: string; detail: string }>
  digest(volume: string): Promise<string>
  data: string
}

export async function openBackupLab(client: Client): Promise<BackupLab> {
  const data = '/v1/projects/lab/data'
  await client.post('/v1/projects/lab/boxes', { name: 'keeper', config: { ram_mb: 128 } })
  const shell = async (line: string): Promise<string> => {
    const { stdout, stderr } = (await client.shell('lab', 'keeper', line)).body
    return stdout + stderr
  }
  const attach = async (name: string): Promise<void> => {
    const attached = await client.post(`${data}/${name}/attach`, { box: 'keeper', path: `/${name}` })
    expect(attached.status).toBe(200)
  }
  const digest = (volume: string): Promise<string> => shell(`cd /${volume} && find . -type f | sort | xargs sha256sum`)
  return {
    data,
    shell,
    digest,
    fill: async (name, megabytes) => {
      await client.post(data, { name, size_gb: 1 })
      await attach(name)
      await shell(`head -c ${megabytes}000000 /dev/urandom > /${name}/noise; echo first > /${name}/line`)
    },
    back: async (name) => {
      const { status, body } = await client.post(`${data}/${name}/backups?wait_seconds=25`)
      expect([status, body.status]).toEqual([201, 'done'])
      return body.id
    },
    restore: async (id, as) => {
      const { body } = await client.post(`${data}?wait_seconds=25`, { name: as, from_backup: id })
      if (body.code !== undefined) return { code: body.code, detail: body.detail }
      // Under other load, the restore can take longer than a request waits.
      await eventually(async () => (await client.get(`${data}/${as}`)).status === 200)
      await attach(as)
      return { digest: await digest(as) }
    },
  }
}

/** Waits until an operation ends, even across a restart of the agent. Returns the answer that shows the result. */
export async function endOf(client: Client, operationId: string): Promise<Answer> {
  return untilSucceeds(async () => {
    const answer = await client.get(`/v1/operations/${operationId}?wait_seconds=20`)
    if (answer.body.status === 'running') throw new Error(`It never ended: ${answer.text}`)
    return answer
  })
}

/** Marks all backups of a stopped agent as automatic and moves their creation two hours back. */
export function ageBackups(service: TestService): void {
  const database = new DatabaseSync(join(service.dataDir, 'boxyard.db'))
  database.exec(`UPDATE backups SET record = json_set(record, '$.automatic', json('true'),
    '$.createdAt', record ->> '$.createdAt' - 7200000)`)
  database.close()
}

/** Lists the objects in a backup folder by name. Skips folders that are deleted while it reads. */
export function objectsIn(folder: string): string[] {
  return entriesOf(folder)
    .flatMap((entry) => {
      if (!entry.isDirectory()) return [entry.name]
      return objectsIn(join(folder, entry.name)).map((name) => join(entry.name, name))
    })
    .sort()
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
