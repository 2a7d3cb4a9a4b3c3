import { describe, expect, test } from '@jest/globals'
import type { RigCell } from '../../../infra/fleet/cells.ts'
import { cellEnvironment, doorOf, sharedEnvironment } from '../../../infra/fleet/settings.ts'
import { AGENT_SETTINGS, FRONT_SETTINGS } from '../../../shared/settings-names.ts'

const cell: RigCell = {
  cell: 'n2',
  node: 'host-2',
  address: '10.160.0.3',
  dataDir: '/state/node-2/boxyard',
  enter: '/state/enter-2',
  kubeconfig: '/state/agent-2.kubeconfig',
}

describe('the environment of a cell', () => {
  test('is small, at its own address, with mutual TLS, and known to agent and front', () => {
    const environment = cellEnvironment(cell, {}, '/state/tls')
    expect(environment).toMatchObject({
      BOXYARD_CELL: 'n2',
      BOXYARD_NODE: 'host-2',
      BOXYARD_DATA_DIR: '/state/node-2/boxyard',
      BOXYARD_BASE: 'busybox',
      BOXYARD_POOL_GB: '2',
      BOXYARD_AGENT_HOST: '10.160.0.3',
      BOXYARD_AGENT_URL: 'https://10.160.0.3:8090',
      BOXYARD_CHANNEL_CERT: '/state/tls/n2.crt',
    })
    expect(doorOf(cell)).toBe(`http://${environment['BOXYARD_HOST']}:${environment['BOXYARD_PORT']}`)
    const known: readonly string[] = [...AGENT_SETTINGS, ...FRONT_SETTINGS]
    expect(Object.keys(environment).filter((name) => !known.includes(name))).toEqual([])
  })

  test('has what is given for all cells, and little else of a shell', () => {
    const shared = sharedEnvironment({ PATH: '/bin', SECRET: 'x', BOXYARD_BASE: 'debian', BOXYARD_WARM_POOL: '' })
    expect(shared).toEqual({ PATH: '/bin', BOXYARD_BASE: 'debian' })
    expect(cellEnvironment(cell, shared, '/state/tls')).toMatchObject({ BOXYARD_BASE: 'debian', PATH: '/bin' })
  })

  test('takes nothing for all that each cell has of its own', () => {
    const own = Object.keys(cellEnvironment(cell, {}, '/state/tls'))
    const shareable = ['BOXYARD_BASE', 'BOXYARD_POOL_GB', 'BOXYARD_POOL_STEP_GB']
    for (const name of own.filter((each) => !shareable.includes(each))) {
      expect(() => sharedEnvironment({ [name]: 'x' })).toThrow(`${name} is set, but each cell of a fleet has its own.`)
    }
  })
})
