import { untilGone } from '../../helpers/boxes/oci-lab.ts'
import { openVolumeLab } from '../../helpers/volumes/lab.ts'
import { defineRuntimeSuite } from './runtime-suite.ts'

defineRuntimeSuite('real', async () => {
  const volumes = await openVolumeLab()
  const { lab, pool } = volumes
  return {
    runtime: () => lab.runtime,
    spec: async (id, changes = {}) => {
      const name = `sub_${id}`
      await pool.snapshot({ source: 'base', name, project: 'demo', isReadOnly: false, quotaBytes: null })
      return { ...lab.spec(id), rootPath: pool.path(name), ...changes }
    },
    makeVolume: volumes.makeVolume,
    reopen: async () => void (await lab.reopen()),
    close: async () => {
      await volumes.close()
      await untilGone(lab)
    },
  }
})
