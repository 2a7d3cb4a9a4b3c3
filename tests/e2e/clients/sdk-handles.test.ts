import { expect, test } from '@jest/globals'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const { service } = useSharedService()

test('a box has snapshots, what changed since, services, and commands that are signalled', async () => {
  const boxyard = createBoxyard({ url: service().url, token: () => service().adminToken })
  const kept = await boxyard.createBox('sdk', { name: 'kept' })
  expect(await kept.snapshot('before')).toMatchObject({ name: 'before', automatic: false })
  await kept.writeFile('/root/new', 'x')
  const changes = []
  for await (const each of kept.diff('before')) changes.push(`${each.kind} ${each.path}`)
  expect(changes).toContain('added /root/new')
  expect((await kept.restore('before')).status).toBe('running')
  await expect(kept.readFile('/root/new')).rejects.toMatchObject({ code: 'file_not_found' })
  const names = []
  for await (const { name } of kept.snapshots()) names.push(name)
  expect(names).toHaveLength(2)
  const command = ['sleep', '600']
  await boxyard.call('putService', { path: { project: 'sdk', name: 'kept', service: 'site' }, body: { command } })
  const services = []
  for await (const { name } of kept.services()) services.push(name)
  expect(services).toEqual(['site'])
  let id = ''
  const running = kept.run(['sleep', '600'], { onStarted: (started) => (id = started) })
  while (id === '') await new Promise((resolve) => setTimeout(resolve, 10))
  expect(await kept.signal(id, 'SIGTERM')).toMatchObject({ id })
  expect(await running).toMatchObject({ signal: 'SIGTERM' })
  await kept.delete()
})
