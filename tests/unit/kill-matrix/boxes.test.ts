import { expect } from '@jest/globals'
import { defineKillMatrix, type FaultSite, PROJECT, type Scenario } from '../../helpers/imagined-host/matrix.ts'

const SMALL = { ram_mb: 64, cpus: 0.5, storage_gb: 1 }
const LARGE = { ram_mb: 128, cpus: 1, storage_gb: 2 }
const boxes = `${PROJECT}/boxes`
const data = `${PROJECT}/data`
const victim = `${boxes}/victim`

const make = async ({ ask, write }: FaultSite): Promise<void> => {
  await ask('POST', boxes, { name: 'victim', config: SMALL })
  await write('box victim', 'data')
}
const makeMounted = async (site: FaultSite): Promise<void> => {
  await make(site)
  await site.ask('POST', data, { name: 'vol', size_gb: 1 })
  await site.ask('POST', `${data}/vol/attach`, { box: 'victim', path: '/mnt/vol' })
  await site.write('volume vol', 'data')
}
/** The box has the status in the answer. */
const holdsStatus =
  (name: string): NonNullable<Scenario['holds']> =>
  async ({ ask }, { isDone, answer }) => {
    if (isDone) expect((await ask('GET', `${boxes}/${name}`)).body.status).toBe(answer?.body.status)
  }

await defineKillMatrix('create', {
  prepare: async () => undefined,
  act: (ask) => ask('POST', boxes, { name: 'victim', config: SMALL }),
  holds: holdsStatus('victim'),
})

await defineKillMatrix('create with a data volume', {
  prepare: async ({ ask }) => void (await ask('POST', data, { name: 'vol', size_gb: 1 })),
  act: (ask) => ask('POST', boxes, { name: 'victim', config: SMALL, data_mounts: [{ name: 'vol', path: '/mnt/vol' }] }),
  holds: holdsStatus('victim'),
})

await defineKillMatrix('fork', {
  prepare: make,
  act: (ask) => ask('POST', boxes, { name: 'heir', fork: 'victim' }),
  holds: async (site, outcome) => {
    await holdsStatus('heir')(site, outcome)
    if ((await site.ask('GET', `${boxes}/heir`)).status === 200) expect(await site.read('box heir')).toBe('data')
  },
})

await defineKillMatrix('stop', {
  prepare: makeMounted,
  act: (ask) => ask('POST', `${victim}/stop`),
  holds: holdsStatus('victim'),
})

await defineKillMatrix('resume', {
  prepare: async (site) => {
    await make(site)
    await site.ask('POST', `${victim}/stop`)
  },
  act: (ask) => ask('POST', `${victim}/resume`),
  holds: holdsStatus('victim'),
})

await defineKillMatrix('resume with a data volume', {
  prepare: async (site) => {
    await makeMounted(site)
    await site.ask('POST', `${victim}/stop`)
  },
  act: (ask) => ask('POST', `${victim}/resume`),
  holds: holdsStatus('victim'),
})

await defineKillMatrix('update', {
  prepare: make,
  act: (ask) => ask('PUT', victim, { config: LARGE }),
  holds: async ({ ask, read }, { isDone }) => {
    const { config } = (await ask('GET', victim)).body
    if (isDone) expect(config).toMatchObject(LARGE)
    else
      expect([SMALL, LARGE]).toContainEqual({ ram_mb: config.ram_mb, cpus: config.cpus, storage_gb: config.storage_gb })
    expect(await read('box victim')).toBe('data')
  },
})

await defineKillMatrix('delete', {
  prepare: async (site) => {
    await makeMounted(site)
    await site.ask('POST', `${victim}/snapshots`, { name: 'good', include_data: true })
  },
  act: (ask) => ask('DELETE', victim),
  holds: async ({ ask, read }, { isDone }) => {
    if (isDone) expect((await ask('GET', victim)).status).toBe(404)
    expect(await read('volume vol')).toBe('data')
  },
})

const web = `${PROJECT}/boxes/web`
const publish = { domains: ['shop.example.org'] }

const makeWeb = async ({ ask }: FaultSite): Promise<void> => {
  await ask('POST', `${PROJECT}/boxes`, { name: 'web', config: { ram_mb: 64 } })
  await ask('PUT', `${web}/services/page`, { command: ['serve'], port: 8080 })
}

await defineKillMatrix('publish', {
  prepare: makeWeb,
  act: (ask) => ask('POST', `${web}/publish`, publish),
  holds: async ({ ask }, { isDone }) => {
    if (isDone) expect((await ask('GET', web)).body.published_domains).toEqual(publish.domains)
  },
})

await defineKillMatrix('unpublish', {
  prepare: async (site) => {
    await makeWeb(site)
    await site.ask('POST', `${web}/publish`, publish)
  },
  act: (ask) => ask('POST', `${web}/unpublish`, {}),
  holds: async ({ ask }, { isDone }) => {
    if (isDone) expect((await ask('GET', web)).body.published_domains).toEqual([])
  },
})

await defineKillMatrix('publish of a service', {
  prepare: makeWeb,
  act: (ask) => ask('POST', `${web}/services/page/publish`, publish),
  holds: async ({ ask }, { isDone }) => {
    if (isDone) expect((await ask('GET', `${web}/services/page`)).body.published_domains).toEqual(publish.domains)
  },
})

await defineKillMatrix('change of who may use a URL', {
  prepare: makeWeb,
  act: (ask) => ask('PUT', web, { url_settings: { auth: 'public' } }),
  holds: async ({ ask }, { isDone }) => {
    if (isDone) expect((await ask('GET', web)).body.url_settings.auth).toBe('public')
  },
})

const bases = `${PROJECT}/bases`

const makeSource = async ({ ask, write }: FaultSite): Promise<void> => {
  await ask('POST', `${PROJECT}/boxes`, { name: 'source', config: { ram_mb: 64 } })
  await write('box source', 'data')
}

await defineKillMatrix('base from a box', {
  prepare: makeSource,
  act: (ask) => ask('POST', bases, { name: 'made', box: 'source' }),
  holds: async ({ ask, read }, { isDone }) => {
    const { status } = await ask('GET', `${bases}/made`)
    if (isDone) expect(status).toBe(200)
    if (status !== 200) return
    expect((await ask('POST', `${PROJECT}/boxes`, { name: 'heir', base: 'made' })).body.status).toBe('running')
    expect(await read('box heir')).toBe('data')
  },
})

await defineKillMatrix('delete of a base', {
  prepare: async (site) => {
    await makeSource(site)
    await site.ask('POST', bases, { name: 'made', box: 'source' })
  },
  act: (ask) => ask('DELETE', `${bases}/made`),
  holds: async ({ ask }, { isDone }) => {
    if (isDone) expect((await ask('GET', `${bases}/made`)).status).toBe(404)
  },
})
