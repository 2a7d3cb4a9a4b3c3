import { expect } from '@jest/globals'
import { defineKillMatrix, type FaultSite, PROJECT, type Scenario } from '../../helpers/imagined-host/matrix.ts'

const boxes = `${PROJECT}/boxes`
const data = `${PROJECT}/data`
const vol = `${data}/vol`

const make = async ({ ask, write }: FaultSite): Promise<void> => {
  await ask('POST', data, { name: 'vol', size_gb: 1 })
  await write('volume vol', 'data')
}
const makeWithBox = async (site: FaultSite): Promise<void> => {
  await make(site)
  await site.ask('POST', boxes, { name: 'victim', config: { ram_mb: 64 } })
}
const attach = { box: 'victim', path: '/mnt/vol' }

await defineKillMatrix('create of a volume', {
  prepare: async () => undefined,
  act: (ask) => ask('POST', data, { name: 'vol', size_gb: 1 }),
  holds: async ({ ask }, { isDone }) => {
    if (isDone) expect((await ask('GET', vol)).body.size_gb).toBe(1)
  },
})

await defineKillMatrix('update of a volume', {
  prepare: make,
  act: (ask) => ask('PUT', vol, { size_gb: 2 }),
  holds: async ({ ask, read }, { isDone }) => {
    expect(isDone ? [2] : [1, 2]).toContain((await ask('GET', vol)).body.size_gb)
    expect(await read('volume vol')).toBe('data')
  },
})

await defineKillMatrix('delete of a volume', {
  prepare: async (site) => {
    await make(site)
    await site.ask('POST', `${vol}/snapshots`, { name: 'good' })
  },
  act: (ask) => ask('DELETE', vol),
  holds: async ({ ask, read }, { isDone }) => {
    const { status } = await ask('GET', vol)
    if (isDone) expect(status).toBe(404)
    if (status === 200) expect(await read('volume vol')).toBe('data')
  },
})

await defineKillMatrix('attach', {
  prepare: makeWithBox,
  act: (ask) => ask('POST', `${vol}/attach`, attach),
  holds: async ({ ask }, { isDone }) => {
    if (isDone) expect((await ask('GET', vol)).body.attachments).toHaveLength(1)
  },
})

await defineKillMatrix('detach', {
  prepare: async (site) => {
    await makeWithBox(site)
    await site.ask('POST', `${vol}/attach`, attach)
  },
  act: (ask) => ask('POST', `${vol}/detach`, { box: 'victim' }),
  holds: async ({ ask }, { isDone }) => {
    if (isDone) expect((await ask('GET', vol)).body.attachments).toEqual([])
  },
})

/** Makes a volume for two boxes, with a snapshot and the maximum number of automatic snapshots. The next restore drops one of these. */
const makeRestored = async (site: FaultSite): Promise<void> => {
  const { ask, write } = site
  for (const name of ['writer', 'reader']) await ask('POST', boxes, { name, config: { ram_mb: 64 } })
  await ask('POST', data, { name: 'vol', size_gb: 1 })
  await ask('POST', `${vol}/attach`, { box: 'writer', path: '/vol' })
  await ask('POST', `${vol}/attach`, { box: 'reader', path: '/vol', read_only: true })
  await write('volume vol', 'good')
  await ask('POST', `${vol}/snapshots`, { name: 'good' })
  for (let round = 0; round < 3; round++) await ask('POST', `${vol}/restore`, { snapshot: 'good' })
  await write('volume vol', 'later')
}
/** Every snapshot of the volume has its content. */
const expectWhole = async ({ ask, read }: FaultSite, wasKilled: boolean): Promise<void> => {
  const { snapshots } = (await ask('GET', `${vol}/snapshots`)).body
  expect(snapshots.filter(({ automatic }: { automatic: boolean }) => automatic)).toHaveLength(3)
  for (const { name } of snapshots) {
    // Copying a snapshot takes time, so only runs with a kill copy these two.
    if (!wasKilled || (name !== 'good' && name !== 'made')) continue
    expect((await ask('POST', data, { name: 'check', from: 'vol', from_snapshot: name })).status).toBe(201)
    expect(await read('volume check')).toBe(name === 'good' ? 'good' : 'later')
    expect((await ask('DELETE', `${data}/check`)).status).toBe(204)
  }
}

await defineKillMatrix('snapshot of a volume', {
  prepare: makeRestored,
  act: (ask) => ask('POST', `${vol}/snapshots`, { name: 'made' }),
  holds: async (site, { isDone, wasKilled }) => {
    if (isDone) expect((await site.ask('GET', `${vol}/snapshots/made`)).status).toBe(200)
    await expectWhole(site, wasKilled)
  },
})

await defineKillMatrix('delete of a snapshot of a volume', {
  prepare: makeRestored,
  act: (ask) => ask('DELETE', `${vol}/snapshots/good`),
  holds: async (site, { isDone, wasKilled }) => {
    if (isDone) expect((await site.ask('GET', `${vol}/snapshots/good`)).status).toBe(404)
    await expectWhole(site, wasKilled)
  },
})

await defineKillMatrix('copy of a volume', {
  prepare: makeRestored,
  act: (ask) => ask('POST', data, { name: 'copy', from: 'vol', from_snapshot: 'good' }),
  holds: async (site, { isDone, wasKilled }) => {
    const { status, body } = await site.ask('GET', `${data}/copy`)
    if (isDone) expect(status).toBe(200)
    if (status === 200) expect([body.from, await site.read('volume copy')]).toEqual(['vol@good', 'good'])
    await expectWhole(site, wasKilled)
  },
})

await defineKillMatrix('restore of a volume', {
  prepare: makeRestored,
  act: (ask) => ask('POST', `${vol}/restore`, { snapshot: 'good' }),
  holds: async (site, { isDone, wasKilled }) => {
    const content = await site.read('volume vol')
    expect(isDone ? ['good'] : ['good', 'later']).toContain(content)
    await expectWhole(site, wasKilled)
    if (content === 'later') return
    // The data that the restore replaced can be restored as well.
    const { snapshots } = (await site.ask('GET', `${vol}/snapshots`)).body
    const { name } = snapshots.findLast(({ automatic }: { automatic: boolean }) => automatic)
    expect((await site.ask('POST', `${vol}/restore`, { snapshot: name })).status).toBe(200)
    expect(await site.read('volume vol')).toBe('later')
  },
})

const web = `${PROJECT}/boxes/web`

const makeWeb = async ({ ask, write }: FaultSite): Promise<void> => {
  await ask('POST', `${PROJECT}/boxes`, { name: 'web', config: { ram_mb: 64 } })
  await ask('POST', data, { name: 'vol', size_gb: 1 })
  await ask('POST', `${data}/vol/attach`, { box: 'web', path: '/mnt/vol' })
  for (const owner of ['box web', 'volume vol'] as const) await write(owner, 'before')
}
const makeTaken = async (site: FaultSite): Promise<void> => {
  await makeWeb(site)
  await site.ask('POST', `${web}/snapshots`, { name: 'taken', include_data: true })
  for (const owner of ['box web', 'volume vol'] as const) await site.write(owner, 'after')
}
const contents = async ({ read }: FaultSite): Promise<string[]> => [await read('box web'), await read('volume vol')]
/** An existing snapshot restores the root and the volume to their state at the time of the snapshot. */
const holdsSnapshot =
  (hasData: boolean): NonNullable<Scenario['holds']> =>
  async (site, { isDone }) => {
    const { status } = await site.ask('GET', `${web}/snapshots/taken`)
    if (isDone) expect(status).toBe(200)
    if (status !== 200) return
    for (const owner of ['box web', 'volume vol'] as const) await site.write(owner, 'later')
    expect((await site.ask('POST', `${web}/restore`, { snapshot: 'taken' })).status).toBe(200)
    expect(await contents(site)).toEqual(['before', hasData ? 'before' : 'later'])
  }

await defineKillMatrix('snapshot of a box', {
  prepare: makeWeb,
  act: (ask) => ask('POST', `${web}/snapshots`, { name: 'taken' }),
  holds: holdsSnapshot(false),
})

await defineKillMatrix('snapshot of a box with its data', {
  prepare: makeWeb,
  act: (ask) => ask('POST', `${web}/snapshots`, { name: 'taken', include_data: true }),
  holds: holdsSnapshot(true),
})

await defineKillMatrix('delete of a snapshot of a box', {
  prepare: makeTaken,
  act: (ask) => ask('DELETE', `${web}/snapshots/taken`),
  holds: async (site, { isDone }) => {
    if (isDone) expect((await site.ask('GET', `${web}/snapshots/taken`)).status).toBe(404)
    expect(await contents(site)).toEqual(['after', 'after'])
  },
})

const holdsRestore: NonNullable<Scenario['holds']> = async (site, { isDone }) => {
  const held = await contents(site)
  // Root and volume have the same state, old or new.
  expect(
    isDone
      ? [['before', 'before']]
      : [
          ['before', 'before'],
          ['after', 'after'],
        ],
  ).toContainEqual(held)
  for (const owner of ['box web', 'volume vol'] as const) await site.write(owner, 'later')
  expect((await site.ask('POST', `${web}/restore`, { snapshot: 'taken' })).status).toBe(200)
  expect(await contents(site)).toEqual(['before', 'before'])
}

await defineKillMatrix('restore of a box with its data', {
  prepare: makeTaken,
  act: (ask) => ask('POST', `${web}/restore`, { snapshot: 'taken' }),
  holds: holdsRestore,
})

await defineKillMatrix('restore of a stopped box', {
  prepare: async (site) => {
    await makeTaken(site)
    await site.ask('POST', `${web}/stop`)
  },
  act: (ask) => ask('POST', `${web}/restore`, { snapshot: 'taken' }),
  holds: holdsRestore,
})
