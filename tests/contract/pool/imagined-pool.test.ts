import { createImaginedPool } from '../../helpers/imagined-host/pool.ts'
import { createWorld, writeContent } from '../../helpers/imagined-host/world.ts'
import { defineCowSuite } from './cow-suite.ts'

defineCowSuite('imagined', async () => {
  const world = createWorld()
  const filesystem = createImaginedPool(world)
  await filesystem.create('base', 'demo')
  writeContent(world, 'base', 'base')
  return {
    filesystem,
    read: (name) => world.pool.get(name)?.content ?? '',
    write: (name, content) => writeContent(world, name, content),
    close: async () => undefined,
  }
})
