import { createImaginedPool } from '../../helpers/imagined-host/pool.ts'
import { createImaginedRuntime } from '../../helpers/imagined-host/runtime.ts'
import { createWorld, imaginedPath } from '../../helpers/imagined-host/world.ts'
import { defineRuntimeSuite } from './runtime-suite.ts'

defineRuntimeSuite('imagined', async () => {
  const world = createWorld()
  const pool = createImaginedPool(world)
  const open = () => createImaginedRuntime(world, () => Date.now())
  let runtime = open()
  const make = async (name: string): Promise<string> => {
    await pool.create(name, 'demo')
    return imaginedPath(name)
  }
  return {
    runtime: () => runtime,
    spec: async (id, changes = {}) => ({
      ...{ id, project: 'demo', name: id, hostname: id, rootPath: await make(`sub_${id}`), machineId: '0'.repeat(32) },
      ...{
        cpus: 1,
        ramMb: 64,
        shmMb: 32,
        networkMbps: null,
        diskMbps: null,
        diskIops: null,
        pidsMax: 100,
        environment: {},
      },
      ...{ graceSeconds: 0, nesting: false, isNew: false, writesNames: true, mounts: [], ...changes },
    }),
    makeVolume: make,
    reopen: async () => {
      await runtime.close()
      runtime = open()
      await runtime.open()
    },
    close: async () => undefined,
  }
})
