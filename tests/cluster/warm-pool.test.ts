import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { startWarmService, type WarmService } from '../helpers/boxes/warm-pool.ts'
import { pidsOfBox, until } from '../helpers/pods/weather.ts'

describe('a pool of warm pods', () => {
  let service: WarmService
  beforeAll(async () => {
    service = await startWarmService(2)
  })
  afterAll(() => service.close())

  const names = (): string[] => service.warmPods().map(({ name }) => name)
  const untilOthers = (gone: readonly string[], kept: readonly string[] = []): Promise<boolean> =>
    until(() => {
      const now = service.pods().flatMap(({ name, box }) => (box === '' ? [name] : []))
      const isRenewed = !now.some((name) => gone.includes(name)) && kept.every((name) => now.includes(name))
      return isRenewed && names().length === 2 && now.length === 2
    }, `others than ${gone.join()} wait, and ${kept.join()}`)

  test('has running pods, which belong to no project and are counted', async () => {
    for (const { name } of service.warmPods()) {
      const labels = JSON.parse(service.kubectl('get', 'pod', name, '-o', 'jsonpath={.metadata.labels}'))
      expect(Object.keys(labels)).not.toContain('boxyard.dev/project')
      expect(service.kubectl('get', 'pods', '-l', 'app.kubernetes.io/name=box', '-o', 'name')).not.toContain(name)
    }
    const { body } = await service.client.get('/healthz')
    // Pods of other tests count as well.
    expect(body.kubernetes.total_pods_running).toBeGreaterThanOrEqual(2)
    expect(body).toMatchObject({ kubernetes: { nodes: [{ boxes: 0 }] }, boxes: { total: 0 } })
  })

  test('gives its pods to boxes and is filled again, also when more are created at once than it has', async () => {
    const first = names()
    const created = await Promise.all([1, 2, 3, 4, 5, 6].map((n) => service.createBox(`many-${n}`)))
    const pods = created.map(({ name }) => service.podOf(name).name)
    expect(pods.filter((name) => first.includes(name)).sort()).toEqual(first.sort())
    expect(new Set(pods).size).toBe(6)
    await service.untilFull()
    expect(service.pods()).toHaveLength(8)
    await Promise.all(created.map(({ name }) => service.client.delete(`${service.boxes}/${name}`)))
    await until(() => service.pods().length === 2, 'the pods of the boxes are gone')
  })

  test('is not used by a box whose grace period is longer than that of its pods', async () => {
    await service.createWarm('slow')
    await service.client.put(`${service.boxes}/slow`, { termination_grace_period_seconds: 11 })
    await service.client.post(`${service.boxes}/slow/stop`)
    await service.untilFull()
    const before = names().sort()
    await service.client.post(`${service.boxes}/slow/resume`)
    expect(service.podOf('slow').name).not.toMatch(/^warm-/)
    expect(names().sort()).toEqual(before)
    await service.client.delete(`${service.boxes}/slow`)
  })

  test.each([
    ['is deleted', (name: string) => service.kubectl('delete', 'pod', name, '--wait=false')],
    ['is deleted by force', (name: string) => service.kubectl('delete', 'pod', name, '--force', '--grace-period=0')],
    ['ends on the node', (name: string) => kill(name)],
  ])('replaces a pod that %s', async (_, end) => {
    const [lost = '', kept = ''] = names()
    end(lost)
    await untilOthers([lost], [kept])
    await service.createWarm('next')
    expect(await service.run('next', 'hostname')).toBe('next\n')
    await service.client.delete(`${service.boxes}/next`)
    await service.untilFull()
  })

  const kill = (name: string): void => {
    const pod = service.warmPods().find((each) => each.name === name)
    if (pod !== undefined) process.kill(service.initOf(pod), 'SIGKILL')
  }

  test('hands out no pod that has just ended', async () => {
    await service.untilFull()
    const before = names()
    for (const name of before) kill(name)
    await service.createBox('after')
    expect(before).not.toContain(service.podOf('after').name)
    await service.client.delete(`${service.boxes}/after`)
    await untilOthers(before)
  })

  // The kubelet cannot mount files below a symbolic link.
  test('drops a pod that cannot become the box, and leaves nothing of it', async () => {
    await service.createWarm('odd')
    await service.run('odd', 'echo mine >/root/file; mv /etc /x && ln -s x /etc')
    await service.client.post(`${service.boxes}/odd/stop`)
    await service.untilFull()
    const before = names()
    await service.client.post(`${service.boxes}/odd/resume`)
    expect((await service.getBox('odd')).status).toBe('running')
    expect(before).not.toContain(service.podOf('odd').name)
    expect(await service.run('odd', 'cat /root/file; hostname')).toBe('mine\nodd\n')
    await service.untilFull()
    expect(service.pods()).toHaveLength(3)
    await service.client.delete(`${service.boxes}/odd`)
  })

  test('is made anew by the next agent, beside the boxes that run', async () => {
    const box = await service.createWarm('stays')
    const [init] = pidsOfBox(service, box)
    await service.untilFull()
    const before = names()
    await service.service.killAgent('SIGKILL')
    await service.service.startAgent()
    await untilOthers(before)
    expect(pidsOfBox(service, box)[0]).toBe(init)
    expect(service.pods()).toHaveLength(3)
    await service.createWarm('later')
    expect(await service.run('later', 'hostname')).toBe('later\n')
    for (const name of ['stays', 'later']) await service.client.delete(`${service.boxes}/${name}`)
    await until(() => service.pods().length === 2, 'the pods of the boxes are gone')
  })

  test('whose pods cannot start has no more of them than its size, and recovers', async () => {
    const image = service.service.environment['BOXYARD_POD_IMAGE'] ?? ''
    await service.service.killAgent('SIGTERM')
    await service.service.startAgent({ BOXYARD_POD_IMAGE: 'nowhere.test/none:1' })
    const seen = new Set<string>()
    await until(() => {
      const now = service.pods().filter(({ isDeleted }) => !isDeleted)
      expect(now.length).toBeLessThanOrEqual(2)
      for (const { name, phase } of now) if (phase === 'Pending') seen.add(name)
      return seen.size >= 2
    }, 'another attempt is made')
    await service.service.killAgent('SIGKILL')
    await service.service.startAgent({ BOXYARD_POD_IMAGE: image })
    await untilOthers([...seen])
  })

  test('ends with the service', async () => {
    await service.untilFull()
    await service.service.killAgent('SIGTERM')
    await service.service.runAgentMode('down')
    expect(service.pods().filter(({ isDeleted }) => !isDeleted)).toEqual([])
    await service.service.startAgent({ BOXYARD_WARM_POOL: '0' })
    await until(() => service.pods().length === 0, 'no pod is left')
  })
})
