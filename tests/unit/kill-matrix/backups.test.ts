import { expect } from '@jest/globals'
import { defineKillMatrix, type FaultSite, PROJECT } from '../../helpers/imagined-host/matrix.ts'

const data = `${PROJECT}/data`
const vol = `${data}/vol`

/** Makes a volume in a box with two backups. The second backup builds on the first. Returns the second one's id. */
const make = async (site: FaultSite): Promise<string> => {
  const { ask, write } = site
  await ask('POST', `${PROJECT}/boxes`, { name: 'writer', config: { ram_mb: 64 } })
  await ask('POST', data, { name: 'vol', size_gb: 1 })
  await ask('POST', `${vol}/attach`, { box: 'writer', path: '/vol' })
  for (const content of ['first', 'second']) {
    await write('volume vol', content)
    expect((await ask('POST', `${vol}/backups`)).body.status).toBe('done')
  }
  await write('volume vol', 'later')
  return (await listed(site))[1]?.id ?? ''
}
const listed = async ({ ask }: FaultSite): Promise<{ id: string; status: string }[]> =>
  (await ask('GET', `${vol}/backups`)).body.backups

/** Every listed backup restores to its original content, and the store has no other backups. */
const expectWhole = async (site: FaultSite, wasKilled: boolean, contents: readonly string[]): Promise<void> => {
  const done = (await listed(site)).filter(({ status }) => status === 'done')
  const { backups } = (await site.ask('GET', `${PROJECT}/backups`)).body
  expect(backups.map(({ id }: { id: string }) => id)).toEqual(done.map(({ id }) => id))
  // Restoring each backup takes time, so only runs with a kill do it.
  if (!wasKilled) return
  const restored: string[] = []
  for (const { id } of done) {
    expect((await site.ask('POST', data, { name: 'check', from_backup: id })).status).toBe(201)
    restored.push(await site.read('volume check'))
    expect((await site.ask('DELETE', `${data}/check`)).status).toBe(204)
  }
  expect(contents).toEqual(expect.arrayContaining(restored))
}

await defineKillMatrix('backup', {
  prepare: make,
  act: (ask) => ask('POST', `${vol}/backups`),
  holds: async (site, { isDone, wasKilled, answer }) => {
    if (isDone) expect((await listed(site)).map(({ id }) => id)).toContain(answer?.body.id)
    await expectWhole(site, wasKilled, ['first', 'second', 'later'])
  },
})

await defineKillMatrix('delete of a backup', {
  prepare: make,
  act: (ask, second) => ask('DELETE', `${vol}/backups/${second}`),
  holds: async (site, { isDone, wasKilled }) => {
    if (isDone) expect(await listed(site)).toHaveLength(1)
    await expectWhole(site, wasKilled, ['first', 'second'])
  },
})

await defineKillMatrix('restore of a backup as a new volume', {
  prepare: make,
  act: (ask, second) => ask('POST', data, { name: 'copy', from_backup: second }),
  holds: async (site, { isDone, wasKilled }) => {
    const { status } = await site.ask('GET', `${data}/copy`)
    if (isDone) expect(status).toBe(200)
    if (status === 200) expect(await site.read('volume copy')).toBe('second')
    await expectWhole(site, wasKilled, ['first', 'second'])
  },
})

await defineKillMatrix('restore of a backup over its volume', {
  prepare: make,
  act: (ask, second) => ask('POST', `${vol}/backups/${second}/restore`, {}),
  holds: async (site, { isDone, wasKilled }) => {
    expect(isDone ? ['second'] : ['second', 'later']).toContain(await site.read('volume vol'))
    await expectWhole(site, wasKilled, ['first', 'second'])
  },
})
