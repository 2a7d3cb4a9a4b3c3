import { describe, expect, test } from '@jest/globals'
import { parseVolumeUsers } from '../../../web/src/pages/volumes/busy.ts'
import { intervalOf, scheduleText } from '../../../web/src/pages/volumes/schedule-words.ts'
import { selectVolumes } from '../../../web/src/pages/volumes/select-volumes.ts'
import { parseTags, tagLines } from '../../../web/src/ui/tags.ts'

type Listed = Parameters<typeof selectVolumes>[0][number]

const db = volume('db', { size_gb: 2, used_bytes: 300, attachments: [{ box: 'web', path: '/db', read_only: false }] })
const cache = volume('cache', { size_gb: 4, used_bytes: null, tags: { tier: 'gold' } })
const logs = volume('logs', { size_gb: 1, used_bytes: 500, project: 'team-a' })
const ALL = { text: '', project: '', use: '', sort: '' }

describe('the list of volumes', () => {
  test('finds by words of names, tags and boxes', () => {
    const named = (text: string) => selectVolumes([cache, db, logs], { ...ALL, text }).map(({ name }) => name)
    expect(named('team-a/')).toEqual(['logs'])
    expect(named('GOLD demo')).toEqual(['cache'])
    expect(named('web')).toEqual(['db'])
    expect(named('web gold')).toEqual([])
  })

  test('tells attached ones from free ones, and projects apart', () => {
    expect(selectVolumes([cache, db, logs], { ...ALL, use: 'attached' })).toEqual([db])
    expect(selectVolumes([cache, db, logs], { ...ALL, use: 'free', project: 'demo' })).toEqual([cache])
  })

  test('sorts both ways', () => {
    const sorted = (sort: string) => selectVolumes([cache, db, logs], { ...ALL, sort }).map(({ name }) => name)
    expect(sorted('-size')).toEqual(['cache', 'db', 'logs'])
    expect(sorted('used')).toEqual(['cache', 'db', 'logs'])
    expect(sorted('-name')).toEqual(['logs', 'db', 'cache'])
  })
})

describe('the processes that keep a volume', () => {
  test('are read from the words of the refusal', () => {
    const users = parseVolumeUsers('Processes of the box use the volume at /a: b: 4 (sleep), 17 (my (odd), name).')
    expect(parseVolumeUsers('Processes of the box use the volume at /var/lib/db: 4 (sleep). End them first.')).toEqual({
      path: '/var/lib/db',
      processes: [{ pid: '4', name: 'sleep' }],
    })
    expect(users).toBeNull()
    expect(parseVolumeUsers('It is used at /db: 4 (sh), 17 (my (odd) name).')?.processes).toEqual([
      { pid: '4', name: 'sh' },
      { pid: '17', name: 'my (odd) name' },
    ])
  })

  test('are null where it names none', () => {
    expect(parseVolumeUsers('Another volume is mounted inside it, at /db/inner. Detach that first.')).toBeNull()
  })
})

describe('a schedule', () => {
  test('is told in the largest unit that fits', () => {
    expect(intervalOf(7_200)).toMatchObject({ count: 2, unit: { name: 'hours' } })
    expect(intervalOf(5_400)).toMatchObject({ count: 90, unit: { name: 'minutes' } })
    expect(scheduleText({ interval_seconds: 86_400, keep_count: 7, keep_seconds: 2_592_000 })).toBe(
      'Backs up every day. Keeps the newest and 7 older, for 30 days.',
    )
    expect(scheduleText({ interval_seconds: 3_600, keep_count: null, keep_seconds: null })).toBe(
      'Backs up every hour. Keeps all backups.',
    )
  })
})

describe('tags', () => {
  test('are the same after they were written and read', () => {
    const tags = { env: 'prod', 'a.b/c': 'x = y, z', alone: '' }
    expect(parseTags(tagLines(tags))).toEqual(tags)
    expect(parseTags('  env = prod \n\n=lost\n')).toEqual({ env: 'prod' })
  })
})

function volume(name: string, more: Partial<Listed>): Listed {
  return {
    id: `vol_${name}`,
    name,
    project: 'demo',
    size_gb: 1,
    used_bytes: 0,
    created_at: '2026-11-26T10:00:00.000Z',
    updated_at: '2026-11-26T10:00:00.000Z',
    attachments: [],
    from: null,
    backup_schedule: null,
    tags: {},
    ...more,
  }
}
