import { afterEach, describe, expect, test } from '@jest/globals'
import { claimingAs, type Membership, startMembership } from '../../../agent/core/fleet/membership.ts'
import type { CellStatus, Registration } from '../../../agent/ports/fleet/registration.ts'
import { eventually } from '../../helpers/eventually.ts'
import { createHomeTable, createTableDirectory } from '../../helpers/fleet/table-directory.ts'
import { createFakeTime } from '../../helpers/imagined-time.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const ADDRESSES = {
  ...{ channelUrl: 'http://10.0.0.1:8090', dataUrl: 'http://10.0.0.1:8091', edgeAddress: '10.0.0.1:8081' },
  ...{ region: 'north', version: '1.0.0' },
}
const STATUS: CellStatus = {
  ...{ isReady: true, isDraining: false, free: { cpus: 2, ramMb: 1024, storageBytes: 1 }, warm: 0, bases: [] },
}
const CONFLICT = { code: 'name_conflict', evidence: 'two have it', remedy: 'Delete one.' }
const MADE = { project: 'demo', uid: 'bas_1', createdBy: null }
const CARD = { createdAt: 1_000, base: null, forkOf: null, port: null, config: null, storageGb: 1 }
const BASE = { ...MADE, name: 'tools', version: 1, source: 'box web', createdAt: 1_000 }
const HOME = { ...MADE, name: 'web', kind: 'box' as const, card: CARD }

let membership: Membership | null = null

afterEach(async () => {
  await membership?.leave()
  membership = null
})

/** Starts a membership in a fleet that records its calls. */
function startMember() {
  const told: string[] = []
  const fleet = {
    isAway: false,
    hasAgent: false,
    isTaken: false,
    isReady: null as boolean | null,
    conflicts: [] as (typeof CONFLICT)[],
  }
  const tell = (what: string): void => {
    told.push(what)
    if (fleet.isAway) throw new Error('The API server is away.')
  }
  const registration: Registration = {
    join: async () => tell('join'),
    announce: async () => {
      tell('announce')
      if (fleet.isTaken) throw new Error('It belongs to another data directory.')
      fleet.hasAgent = true
    },
    report: async ({ isReady }) => {
      tell('report')
      fleet.isReady = isReady
      return fleet.hasAgent && !fleet.isTaken
    },
  }
  const time = createFakeTime()
  const start = (): Membership => {
    membership = startMembership({
      ...{ registration, addresses: ADDRESSES, measure: async () => STATUS, clock: time.clock, logger: silentLogger },
      publish: async () => {
        tell('publish')
        return fleet.conflicts
      },
    })
    return membership
  }
  const round = ['report', 'publish']
  return { told, fleet, time, start, round }
}

describe('a cell', () => {
  test('joins its fleet, tells where it is, and claims its names', async () => {
    const { told, start } = startMember()
    await start().started
    expect(told).toEqual(['join', 'announce', 'report', 'publish'])
  })

  test('tells how it fares each minute', async () => {
    const { told, start, time, round } = startMember()
    await start().started
    const first = [...told]
    for (let minute = 1; minute <= 3; minute++) {
      await eventually(() => {
        time.advance(10_000)
        return told.length >= first.length + minute * round.length
      })
    }
    expect(told.slice(0, first.length + 3 * round.length)).toEqual([...first, ...round, ...round, ...round])
  })

  test('tells at once what has changed much', async () => {
    const { told, start, time } = startMember()
    const member = start()
    await member.started
    const sleeps = time.sleeps()
    time.advance(500)
    await eventually(() => time.sleeps() > sleeps)
    member.tellSoon()
    await eventually(() => told.length === 6)
  })

  test('tries again while the fleet cannot be told, says so in its health, and starts all the same', async () => {
    const { told, fleet, start, time } = startMember()
    fleet.isAway = true
    const member = start()
    let hasStarted = false
    void member.started.then(() => {
      hasStarted = true
    })
    await eventually(() => told.length > 0)
    expect(hasStarted).toBe(false)
    await eventually(() => {
      time.advance(500)
      return hasStarted
    })
    expect(member.problems()).toEqual([
      expect.objectContaining({ code: 'fleet_untold', evidence: expect.stringContaining('The API server is away.') }),
    ])
    fleet.isAway = false
    await eventually(() => {
      time.advance(500)
      return member.problems().length === 0
    })
    expect(told.slice(-4)).toEqual(['join', 'announce', 'report', 'publish'])
  })

  test('tells its addresses again when its Agent was deleted', async () => {
    const { told, fleet, start, time } = startMember()
    const member = start()
    await member.started
    fleet.hasAgent = false
    await eventually(() => {
      time.advance(10_000)
      return fleet.hasAgent
    })
    expect(told.filter((what) => what === 'announce')).toHaveLength(2)
    expect(told.filter((what) => what === 'join')).toHaveLength(1)
    expect(member.problems()).toEqual([])
  })

  test('claims nothing before the fleet knows it, nor once another data directory has its number', async () => {
    const { told, fleet, start, time } = startMember()
    fleet.isAway = true
    const member = start()
    const directory = claimingAs(createTableDirectory(createHomeTable(), 'aa'), member.checkKnown)
    const claim = async (): Promise<string> =>
      directory.bases.claim(BASE).then(
        () => 'claimed',
        ({ message }: Error) => message,
      )
    await eventually(() => told.length > 0)
    expect(await claim()).toBe('The fleet does not know this cell: The API server is away.')
    await expect(directory.claim(HOME)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    fleet.isAway = false
    await eventually(async () => {
      time.advance(500)
      return (await claim()) === 'claimed'
    })
    const published = told.filter((what) => what === 'publish').length
    fleet.isTaken = true
    await eventually(async () => {
      time.advance(10_000)
      return (await claim()).endsWith('It belongs to another data directory.')
    })
    expect(told.filter((what) => what === 'publish')).toHaveLength(published)
  })

  test('names what two have in its health, until one gives it up', async () => {
    const { fleet, start, time } = startMember()
    fleet.conflicts = [CONFLICT]
    const member = start()
    await member.started
    expect(member.problems()).toEqual([CONFLICT])
    fleet.conflicts = []
    await eventually(() => {
      time.advance(10_000)
      return member.problems().length === 0
    })
  })

  test('tells that it takes no requests as it leaves', async () => {
    const { fleet, start } = startMember()
    const member = start()
    await member.started
    expect(fleet.isReady).toBe(true)
    await member.leave()
    expect(fleet.isReady).toBe(false)
  })
})
