import { createImaginedBackupStore } from '../../helpers/imagined-host/drivers.ts'
import { createWorld } from '../../helpers/imagined-host/world.ts'
import { defineBackupStoreSuite } from './store-suite.ts'

defineBackupStoreSuite('imagined', async () => {
  const world = createWorld()
  const open = () => createImaginedBackupStore(world)
  return { store: open(), reopen: async () => open(), close: async () => undefined }
})
