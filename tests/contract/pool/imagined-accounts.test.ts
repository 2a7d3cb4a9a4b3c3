import { createImaginedAccounts, createImaginedPool } from '../../helpers/imagined-host/pool.ts'
import { createWorld, writeBytes } from '../../helpers/imagined-host/world.ts'
import { defineAccountsSuite } from './accounts-suite.ts'

defineAccountsSuite('imagined', async () => {
  const world = createWorld()
  const pool = createImaginedPool(world)
  return {
    accounts: createImaginedAccounts(world),
    make: (thing, project) => pool.create(thing, project),
    copy: (source, name, project) => pool.snapshot({ source, name, project, isReadOnly: false, quotaBytes: null }),
    seal: (thing) => pool.setReadOnly(thing, true),
    fill: (thing, bytes) => writeBytes(world, thing, bytes),
    delete: (thing) => pool.destroy(thing),
    reopen: async () => undefined,
    close: async () => undefined,
  }
})
